"""Small programs for single laws."""

ENTRIES = ()
