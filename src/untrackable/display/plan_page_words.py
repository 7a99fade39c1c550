"""The captions and formulas of a plan's page."""

CAPTIONS = {
    "errors": (
        "Error against rounds",
        "The error of the last published figure, by how often the question is asked. "
        "Each mechanism is set for that number of rounds at the chosen eps.",
    ),
    "people": (
        "People needed against eps",
        "How many people must take part for the chosen error, at the chosen number of rounds.",
    ),
    "tracking": (
        "Tracking against reports",
        "How well an observer can follow a person, by how many of the person's reports the observer holds. "
        "The dashed line is the tolerable limit. Lines at zero are exact: there is nothing to follow.",
    ),
}
"""The title and the caption of each chart."""

PREDICTED_CAPTIONS = {
    "errors": (
        "Strings found against rounds",
        "The predicted frequency from which on strings are found in the last published figure, by how often the "
        "question is asked. Each mechanism is set for that number of rounds at the chosen eps.",
    ),
    "people": (
        "People needed against eps",
        "The predicted number of people who must take part for strings of the chosen frequency to be "
        "found, at the chosen number of rounds.",
    ),
}
"""Those of strings that nobody listed, whose errors are predicted."""

ATTENDANCE_CAPTIONS = {
    "participation-errors": (
        "Error against participation",
        "The error of a published figure of the recommended mechanism, by how often clients answer. Fewer reports "
        "spend less of the privacy budget, so each may be louder. The point is the plan.",
    ),
    "participation-recognition": (
        "Recognition against participation",
        "How often an observer recognises a person among 1,000 by reports and attendance together, by how often "
        "clients answer, and for how many rounds people stay at one place. The dashed line is the tolerable limit, "
        "and the point is the plan. Guessing reaches 0.001.",
    ),
}
"""Those of the charts about participation."""

CROWD_CAPTIONS = {
    "crowd": (
        "With fewer people, or more",
        "What the collector learns without the relay, by how many people are enrolled; the point is the plan. With "
        "fewer people, eps grows smoothly. The dashed line is what relay and collector could learn together.",
    ),
    "following": (
        "Who is followed",
        "An observer without names matches reports from one place with reports from another. Reports that can be "
        "linked give people away even among others with the same value, and the more reports, the better. Those of "
        "a deck never do (exact), however loud they are; but loud reports tell different values apart (dashed). "
        "The dotted line is a guess. Shares are sampled, with their intervals.",
    ),
}
"""Those of the charts about a crowd."""

TOGETHER_CAPTIONS = {
    "errors": (
        "Errors",
        "The error of a published figure of each question, beside what was asked for, what the question would have "
        "if it were the only one, and what one campaign for all questions would have, as far as these are known.",
    ),
    "parts": (
        "Parts of the budget",
        "The eps of each question by itself, and of all questions together. The parts may add up to more than the "
        "whole, because the noise in different reports is independent.",
    ),
}
"""Those of several questions with one budget."""

PREDICTED = (
    "Frequency found",
    "predicted, not a bound: the threshold above which a bucket stands out of all buckets of one prefix, which has "
    "its share of the reports, and three standard errors more. The search weighs all prefixes together.",
    "",
)
"""The formula for strings that nobody listed."""

_FREQUENCIES = (
    "Error",
    "for m values at once and n reports: the radius, for β/m, of the widest interval that inverts the law of a "
    "count, whatever people hold; if a report counts with more than two probabilities, span·√(ln(2m/β)/(2n)). If N "
    "people answer with probability r each, n is a little less than N·r, so that the bound holds on average, and "
    "for the frequencies of all people. The reports of independent rounds are one count; if their noise differs, "
    "they are pooled as √(Σ w²·span²/n)·√(ln(2m/β)/2), with weights of one over the variance.",
    "Clopper and Pearson 1934, Hoeffding 1956 and 1963",
)
_SUMS = (
    "the smaller of span·√(ln(2m/β)/(2n)) and √(2·variance·ln(2m/β)/n) + span·ln(2m/β)/(3n), for n reports. "
    "Variance and span are bounds on what one report adds, whatever people hold, and on whom the sample meets. "
    "If N people answer with probability r each, n is a little less than N·r."
)
WANTED = {
    "frequencies": _FREQUENCIES,
    "quantiles": (
        "Error",
        f"of the share of people up to a number, for m numbers at once: {_SUMS}",
        "Hoeffding 1963, Bernstein 1946",
    ),
    "mean": (
        "Error",
        f"of the mean, as a share of the range of numbers, with m = 1: {_SUMS}",
        "Hoeffding 1963, Bernstein 1946",
    ),
}
"""The formula for the error of each figure that may be wanted."""

FORMULAS = (
    (
        "Everlasting privacy",
        "delta(eps) of all reports ever, one value against another; the parameters are the largest for which it "
        "is within the goal, found by a search in which the engine is asked at every step.",
        "",
    ),
    (
        "Tracking",
        "reports of one person against those of two, the worst split. Stored reports: 1 − E[(1 − M/L)^(k−j)], "
        "the probability of a slot on both sides. One kept bit: "
        "2a(1−a)·TV(Bin(j, q), Bin(j, p))·TV(Bin(k−j, q), Bin(k−j, p)).",
        "",
    ),
    (
        "In the crowd",
        "a person's report is of a part that the two values share or of one that they do not, and everybody "
        "else's law contains the same parts. The observer is granted the part of every report. What is left is how "
        "many reports are of each part. To first order, a round is a Gaussian shift with "
        "μ² = 2·r·β·(e^ε′ − 1)/n, for n people who answer with probability r.",
        "",
    ),
    (
        "Attendance",
        "each round, one person is seen at the first place with probability r·a, at the second with r·b, and never "
        "at both; two people are seen independently of each other. Rounds multiply, and so do the reports. For "
        "stays of B rounds, r becomes 1 − (1 − r)^B. Recognition is the power of the best test at a false positive "
        "rate of 1/1,000.",
        "",
    ),
    (
        "Other answers",
        "reports of one person against those of two people with different answers, the worst split. Independent "
        "reports: privacy itself. Otherwise the engine, or at most tracking and privacy together: "
        "TV(P, Q) ≤ TV(P, P′) + TV(P′, Q), where P′ are two people with the same answer.",
        "",
    ),
    ("Error", "", ""),
    (
        "The paper's own selection",
        "ε′ from the accuracy, L = ⌊ε²/(8ε′² ln(1/δ))⌋, tracking k²/L; its further term L²/2^d is left out.",
        "Naor, Vexler, parameter selection",
    ),
)
"""What is computed, as a name, a formula and where it comes from. That of the error is filled in."""
