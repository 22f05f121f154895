"""Statistics of labels and scores: they take arrays, return figures with intervals, and know nothing of judges.

| question | modules |
| --- | --- |
| two raters: do they agree? | `agreement`, `confusion` |
| many raters, repeats, panels | `raters`, `intraclass`, `ceiling`, `annotators`, `repeats` |
| scores and probabilities | `scores`, `correlations`, `reliability`, `mapping`, `threshold`, `selective`, `cascade` |
| may a judge stand in for a person? | `replacement` |
| the true pass rate | `prevalence`, made of `rogan_gladen`, `post_stratified`, `ppi`, `two_phase` |
| how many labels? | `power` |
| biases of a judge | `probes`, `scale` |
| two systems, one judge | `systems`, `contrasts`, `multiplicity` |
| what these are made of | `tables`, `arrays`, `resampling`, `logit` |
"""
