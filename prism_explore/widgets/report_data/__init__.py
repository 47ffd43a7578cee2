"""The data of a report: the events as columns, and panels at many moments, with equal parts stored once."""
