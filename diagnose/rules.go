package diagnose

import "slices"

// Rules returns every rule in the order of the catalogue.
func Rules() []Rule {
	rules := append(fetchRules(), membershipRules()...)
	order := make(map[Class]int, len(rules))
	for i, e := range Catalogue() {
		order[e.Class] = i
	}
	slices.SortStableFunc(rules, func(a, b Rule) int { return order[a.Class] - order[b.Class] })
	return rules
}

// JudgedClasses lists the classes that have a rule, in the catalogue's order.
func JudgedClasses() []Class {
	var out []Class
	for _, r := range Rules() {
		out = append(out, r.Class)
	}
	return out
}

// fetchRules are the rules about fetch sessions and lag, and the two that
// close a diagnosis.
func fetchRules() []Rule {
	return []Rule{
		restartBurstRule(), cacheThrashRule(), cacheSaturatedRule(), cacheNearLimitRule(),
		deadSessionTurnoverRule(), followerChurnRule(), leakingClientRule(), epochMismatchRule(),
		misroutedSessionsRule(), sessionsDisabledRule(),
		lagStableGroupRule(), quietRule(), undecidedRule(),
	}
}
