"""Plans a campaign in which each person answers once: what it will tell, and what it gives away.

`plan.plan(**demands)` takes the fields of `goals.Goals` (`goal_fields` has their limits and words), and returns a
`Plan`: `met`, `solved` (the goals with nothing left open), `mechanism`, `turns`, the promises `one_round`,
`quarter`, `all_rounds` and `figure` (each a `forecast.Promise`), `crowd`, `changes` that would help, `ways` to ask
for several answers, and `campaign()`. `plan.plan_together(questions, **shared)` does the same for several
questions in one document. `plan.every_round` says what everybody in every round would give instead.
"""
