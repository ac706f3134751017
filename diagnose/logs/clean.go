package logs

import (
	"regexp"
	"strings"
	"unicode/utf8"
)

var (
	ansi = regexp.MustCompile(`\x1b(?:\[[0-9;?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[@-Z\\-_])`)
	// secretValue finds values that must not be repeated, in quotes with escapes, in
	// quotes that are escaped themselves, or bare.
	secretValue = regexp.MustCompile(`(?i)((?:password|passwd|passphrase|\bpass|pwd|secret|token|api[_-]?key|access[_-]?key|private[_-]?key|credentials?|authorization|signature)[\w.-]*\\?["']?\s*[=:]\s*(?:(?:bearer|basic)\s+)?)` +
		`("(?:[^"\\]|\\.)*"?|'(?:[^'\\]|\\.)*'?|\\"[^"]*"?|[^\s,;&)}\]]+)`)
	// apiName is the value of "apiKey" in request logs: the name or number of a
	// Kafka request, which is no secret.
	apiName  = regexp.MustCompile(`^\W*(?:\d{1,3}|(?i:Produce|Fetch|List_?Offsets?|Metadata|Leader_?And_?Isr|Stop_?Replica|Update_?Metadata|Controlled_?Shutdown|Offset_?(?:Commit|Fetch|For_?Leader_?Epoch|Delete)|Find_?Coordinator|Join_?Group|Heartbeat|Leave_?Group|Sync_?Group|Describe_?\w{1,30}|List_?Groups|Delete_?(?:Groups|Topics|Records)|Sasl_?(?:Handshake|Authenticate)|Api_?Versions|Create_?(?:Topics|Partitions)|Init_?Producer_?Id|(?:Add|Write)_?\w{1,8}_?To_?Txn|End_?Txn|Write_?Txn_?Markers|Txn_?Offset_?Commit|(?:Incremental_?)?Alter_?\w{1,30}|Consumer_?Group_?\w{1,10}|Share_?\w{1,20}))\W*$`)
	userInfo = regexp.MustCompile(`(\w+://)[^\s/?#"']*@`)
	// dataSource is user and password of a database address (user:pw@tcp(host)).
	dataSource = regexp.MustCompile(`[^\s:@/"'=]+:\S{1,200}@(tcp[46]?|udp|unix)\(`)
	bearer     = regexp.MustCompile(`(?i)\b(bearer|basic)\s+[\w.~+/=-]{8,}`)
	jaas       = regexp.MustCompile(`(?i)((?:Plain|Scram|OAuthBearer|Krb5)LoginModule\s+\w+).*`)
	// knownTokens are secrets that show by their own form: Slack, GitHub, GitLab, AWS
	// key ids, JSON web tokens.
	knownTokens = regexp.MustCompile(`\b(?:xox[a-z]-[\w-]{4,}|xapp-[\w-]{4,}|gh[a-z]_\w{10,}|github_pat_\w{10,}|glpat-[\w-]{10,}|(?:AKIA|ASIA)[0-9A-Z]{8,}|eyJ[\w-]{8,}\.[\w-]{8,}(?:\.[\w-]*)?)`)
	privateKey  = regexp.MustCompile(`(-----BEGIN [A-Z ]*PRIVATE KEY-----).*?(-----END|$)`)
)

// cleaned is a line as it may be shown: no colours, no control characters, valid
// UTF-8, no frame of a terminal table.
func cleaned(line []byte) string {
	s := string(line)
	if strings.IndexByte(s, 0x1b) >= 0 {
		s = ansi.ReplaceAllString(s, "")
	}
	s = strings.Map(plainRune, strings.ToValidUTF8(s, "\uFFFD"))
	return strings.TrimSpace(s)
}

// plainRune turns control and invisible characters into blanks or nothing, and
// box-drawing frames into blanks.
func plainRune(r rune) rune {
	switch {
	case r == '\t':
		return ' '
	case r < 0x20, r >= 0x7f && r < 0xa0:
		return -1
	case r >= 0x2500 && r <= 0x259f, r == 0x2028, r == 0x2029:
		return ' '
	case r >= 0x200b && r <= 0x200f, r >= 0x202a && r <= 0x202e, r >= 0x2066 && r <= 0x2069, r == 0xfeff:
		return -1
	default:
		return r
	}
}

// discreet blanks what must not be repeated.
func discreet(s string) string {
	if strings.Contains(s, "-----BEGIN") {
		s = privateKey.ReplaceAllString(s, "$1***$2")
	}
	s = jaas.ReplaceAllString(s, "$1 ***")
	if strings.Contains(s, "@") {
		s = userInfo.ReplaceAllString(s, "$1***@")
		s = dataSource.ReplaceAllString(s, "***@$1(")
	}
	s = bearer.ReplaceAllString(s, "$1 ***")
	s = knownTokens.ReplaceAllString(s, "***")
	return withoutValues(s)
}

// withoutValues blanks the values of keys that name a secret.
func withoutValues(s string) string {
	var b strings.Builder
	last := 0
	for _, m := range secretValue.FindAllStringSubmatchIndex(s, -1) {
		key, value := s[m[2]:m[3]], s[m[4]:m[5]]
		if strings.HasPrefix(strings.ToLower(key), "apikey") && apiName.MatchString(value) {
			continue
		}
		b.WriteString(s[last:m[4]])
		b.WriteString("***")
		last = m[5]
	}
	if last == 0 {
		return s
	}
	return b.String() + s[last:]
}

// cut bounds a text to n bytes without splitting a character.
func cut(s string, n int) string {
	if len(s) <= n {
		return s
	}
	s = s[:n]
	for len(s) > 0 && !utf8.ValidString(s[max(0, len(s)-utf8.UTFMax):]) {
		s = s[:len(s)-1]
	}
	return s + "…"
}
