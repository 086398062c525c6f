"""The sections of a report: which command makes each, what it answers, and about how dear it is."""

from typing import NamedTuple


class Section(NamedTuple):
    """A section.

    Attributes
    ----------
    title : str
    question : str
        What it answers.
    arguments : tuple of str
        The command's name and options.
    costs : tuple of float
        About how much processor time it takes, in units of that of `gradient`: of the networks of the zoo, in the
        median, and of states of more than `LARGE` dimensions, as measured on a speaker encoder of 1,536.
    systems : frozenset of str
        Of which networks it is; empty: of all.
    after : str
        The command whose search it shares, and whose section comes before it; its cost is what is left then.
    """

    title: str
    question: str
    arguments: tuple[str, ...]
    costs: tuple[float, float]
    systems: frozenset[str] = frozenset()
    after: str = ""

    def fits(self, system: str) -> bool:
        """Whether it says something of networks of that system."""
        return not self.systems or system in self.systems

    def cost(self, states: int) -> float:
        """Of a network of so many states."""
        return self.costs[states > LARGE]

    def turn(self, states: int) -> tuple[float, bool]:
        """What puts sections in order: their cost, and after the one whose search they share."""
        before = (other.cost(states) for other in SECTIONS if other.arguments[0] == self.after)
        return max(self.cost(states), *before, 0.0), bool(self.after)


LARGE = 256
ERNN = frozenset({"ernn"})
PROOFS = "fixed-points"  # the command that writes certificates

# In the order of the page; they are run from cheap to dear.
SECTIONS = (
    Section("Fixed points", "Where does it stay under a constant input, and is that proved?", (PROOFS,), (5, 6)),
    Section(
        "Modes", "What does it keep at its fixed points, and what does it read?", ("modes",), (0.5, 0.7), after=PROOFS
    ),
    Section("Spectrum", "What does one step do to a small change, along what drives it?", ("spectrum",), (4, 2.2)),
    Section("Gradient", "How much of a small change is left at the end of a sequence?", ("gradient",), (1, 1)),
    Section("End to end", "In how many directions does a change survive?", ("gradient", "--end-to-end"), (6, 7)),
    Section("Lyapunov exponents", "Do nearby orbits meet or separate?", ("lyapunov",), (3, 0.35)),
    Section(
        "Geometry",
        "Where do its states lie, and which of its fixed points are near?",
        ("geometry",),
        (2, 0.8),
        after=PROOFS,
    ),
    Section("Basins", "Which start ends where?", ("basins",), (12, 1)),
    Section(
        "Inner iteration", "Does ERNN's inner iteration reach its equilibrium?", ("ernn-convergence",), (7, 8), ERNN
    ),
    Section("Manifold", "How does the state move on the equilibrium manifold?", ("ernn-manifold",), (4, 8), ERNN),
    Section(
        "Pseudospectrum", "How far may the eigenvalues be trusted, and what grows first?", ("pseudospectrum",), (2, 0.8)
    ),
    Section(
        "Check",
        "Does no eigenvalue of a step leave the unit circle, and is no exponent positive?",
        ("check", "--max-modulus", "1", "--max-exponent", "0"),
        (7, 0.7),
    ),
)
