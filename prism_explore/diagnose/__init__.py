"""Questions about a finished or running search: audits, what-if searches, comparisons, evidence."""
