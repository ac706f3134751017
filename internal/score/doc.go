// Package score measures the classifier on cases whose truth is known.
//
// A case is a folder with evidence and a case.json ([Load]). [Judge] classifies
// one case and compares the verdict with the truth; [Tally] adds the judgements
// up to a [Report]: confusion table, macro-F1, recall and precision by class,
// the share that was wrong and `confirmed`, and the grounded accuracy.
//
// Three rules keep the figures honest:
//
//   - A cause that cannot be told from another with the sources at hand counts as
//     right when it is named as an alternative, and only then: the pairs stand in
//     [Pairs], each with its source, and hold for evidence of a depth, not for all.
//   - A right class for a wrong reason does not count as grounded: the finding must
//     cite what the fault itself moved ([Produced]).
//   - Recorded and synthetic cases, and those that rules were tuned on and those
//     that were held out, are counted apart. Of held-out cases only sums are
//     shown, never which of them were misjudged: who writes rules shall not look.
//
// [Degradations] takes sources away from the evidence, [Baselines] are the
// simpler ways of judging that the rules have to beat on the same cases.
//
// The package reads files through an fs.FS and has no clock; all else is pure.
package score
