"""Formulas: parsed from the text of reasons, lemmas and e-classes, simplified for reading, typeset as MathML."""
