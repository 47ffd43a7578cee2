"""Equivalence of two torch functions, modules or graphs: proved, refuted with a witness, or unknown with the reason.

| module | does |
|---|---|
| `sides` | which argument of one side is which of the other |
| `execution` | runs a side: torch code, or a graph in the interpreter |
| `programs` | exports each side once, and makes one program per result, over shared inputs |
| `opaque` | operators without a row as unknown functions: one free input per class of congruent calls |
| `draws` | sizes and random inputs of the trials |
| `trials` | compares the results of both sides; finds a witness, and measures float differences |
| `shrink` | sets elements of a witness's inputs to 0 |
| `constants` | whether two formulas differ in nearly equal constants only |
| `parting` | the smallest differing subterms of two normal forms |
| `decide` | one verdict from proof and trials |
| `outcome`, `rows` | the answer as data; as text and as HTML |
| `check` | `px.check` and `px.assert_equivalent` |
| `command` | `prism-explore check a.py:f b.py:g` |
"""
