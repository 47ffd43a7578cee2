"""What the notebooks are made with: exercises that check answers, and pictures with sliders.

`exercise.py` says what an exercise is, `chapters/` has a file of exercises per notebook, and `frames.py` shows a scene
of the explorer for every position of some sliders, also in a saved page.
"""
