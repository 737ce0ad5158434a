"""How learners are trained: the stack, its optimiser and schedule, Lightning, and closed forms."""
