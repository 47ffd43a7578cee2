"""The refuter: search for inputs on which a candidate differs from its program."""
