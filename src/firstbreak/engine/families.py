"""Which kind of run it is, and for which kinds something holds.

A run has a family: what its policy does (text or control), how its training signal is made (method), and whose data it learns
from. The dialect or the configuration names the algorithm; where neither does, what is logged establishes the family
(`method`, `policy` and `data` of inputs.py). Checks, causes, experiments and links declare `FAMILIES`, the families for
which they hold:

    FAMILIES = only(Policy.TEXT)
    FAMILIES = only(Policy.CONTROL, Method.ACTOR_CRITIC, UNKNOWN)      # UNKNOWN: also where the method is not known
    FAMILIES = without(Method.SUPERVISED)

A line of a text that holds for some families only begins with their names: `text: ...`, `value_based: ...` (`lines_for`).
"""

import enum
import re
from collections.abc import Iterator, Mapping

from firstbreak.model import Link
from firstbreak.patterns import pattern
from firstbreak.values import dataclass


class Policy(enum.StrEnum):
    """What the policy does."""

    TEXT = "text"  #: a language model: prompts, completions, tokens
    CONTROL = "control"  #: acts in an environment: observations, actions, episodes


class Method(enum.StrEnum):
    """How the training signal is made."""

    GROUP_RELATIVE = "group_relative"  #: reward against those of the same prompt: GRPO, RLOO
    ACTOR_CRITIC = "actor_critic"  #: advantages from a critic on fresh data: PPO, A2C
    VALUE_BASED = "value_based"  #: bootstrapped action values from a replay buffer: DQN, SAC, TD3
    PREFERENCE = "preference"  #: pairs of answers: DPO, reward models
    SUPERVISED = "supervised"  #: given text


class Data(enum.StrEnum):
    """Whose samples the policy learns from."""

    ON_POLICY = "on_policy"  #: its own, of (nearly) now
    OFF_POLICY = "off_policy"  #: those of earlier policies, or of somebody else


class Unknown(enum.Enum):
    """The method is not known."""

    METHOD = None


UNKNOWN = Unknown.METHOD
Member = Policy | Method | Data | Unknown

#: algorithm, in lower case -> how its training signal is made
METHODS: Mapping[str, Method] = {
    name: method
    for method, names in {
        Method.GROUP_RELATIVE: "grpo rloo dapo gspo dr_grpo gmpo remax cispo online_dpo",
        Method.ACTOR_CRITIC: "ppo a2c a3c trpo vpg impala appo ppg reinforce recurrentppo maskableppo",
        Method.VALUE_BASED: "dqn ddqn qrdqn c51 rainbow iqn apex r2d2 ddpg td3 sac tqc crossq redq d4pg",
        Method.PREFERENCE: "dpo kto ipo orpo simpo cpo reward",
    }.items()
    for name in names.split()
}
#: algorithms whose actors and learner are apart by design, so that their data are always a little old
DECOUPLED = frozenset({"impala", "appo"})


@dataclass(frozen=True, kw_only=True)
class Family:
    """The family of one run."""

    policy: Policy
    policy_known: bool  #: False: nothing that only one kind of policy has was recorded, and it is taken for control
    method: Method | None
    data: Data | None


@dataclass(frozen=True)
class Families:
    """A set of families: of each axis those named; where none of an axis is named, all of it."""

    members: frozenset[Member] = frozenset()
    why: str = ""  #: why it holds for no other family; empty where the names say so

    def include(self, family: Family) -> bool:
        """Whether a run of this family belongs to them."""
        return all(member in named for member, named in self._asked(family))

    def exclude(self, family: Family) -> bool:
        """Whether what is known of a run shows that it does not belong to them."""
        known = (family.policy_known, True)
        return any(
            member not in named and member is not UNKNOWN and known[not isinstance(member, Policy)]
            for member, named in self._asked(family)
        )

    def _asked(self, family: Family) -> Iterator[tuple[Member, frozenset[Member]]]:
        """(the run's member, the members that belong) of each axis that is not open."""
        if not self.members:
            return
        axes: tuple[tuple[type[enum.Enum], Member], ...] = (
            (Policy, family.policy),
            (Method, family.method or UNKNOWN),
            (Data, family.data or UNKNOWN),
        )
        for axis, member in axes:
            named = frozenset(m for m in self.members if isinstance(m, axis))
            if named:
                yield member, named | (self.members & {UNKNOWN})

    def __str__(self) -> str:
        """For whom it is, in words."""
        methods = {m for m in self.members if isinstance(m, Method)}
        if methods and Method.SUPERVISED not in methods and len(methods) == len(Method) - 1:
            return "where a policy learns from its own samples: this is supervised training"
        axes = ([_WORDS[m] for m in axis if m in self.members] for axis in (Policy, Method, Data))
        return ", ".join(" or ".join(words) for words in axes if words) or "every run"


_WORDS: Mapping[Member, str] = {
    Policy.TEXT: "for policies that write text",
    Policy.CONTROL: "for policies that act in an environment",
    Method.GROUP_RELATIVE: "for methods that compare the samples of a prompt",
    Method.ACTOR_CRITIC: "for methods with an actor and a critic on fresh data",
    Method.VALUE_BASED: "for methods that learn action values",
    Method.PREFERENCE: "for training on preference pairs",
    Method.SUPERVISED: "for supervised training",
    Data.ON_POLICY: "for methods that learn from their own latest data",
    Data.OFF_POLICY: "for methods that learn from older data",
}
EVERY = Families()


def only(*members: Member, why: str = "") -> Families:
    """The families that are named."""
    return Families(frozenset(members), why)


def without(*methods: Method, why: str = "") -> Families:
    """All methods but these, and where the method is not known."""
    return Families(frozenset({*Method, UNKNOWN} - set(methods)), why)


#: methods that learn from samples, for `only(Policy.TEXT, *SAMPLED)`
SAMPLED: tuple[Member, ...] = (*(m for m in Method if m is not Method.SUPERVISED), UNKNOWN)
#: methods that draw samples and have them graded, for `only(Policy.TEXT, *GRADED)`
GRADED: tuple[Member, ...] = tuple(m for m in SAMPLED if m is not Method.PREFERENCE)

#: links of the loop that only training on samples has, and those that only drawing them has
OF_LINK: Mapping[Link, Families] = (
    dict.fromkeys(Link, EVERY)
    | dict.fromkeys((Link.ENVIRONMENT, Link.ROLLOUT, Link.REWARD, Link.ADVANTAGE), without(Method.SUPERVISED))
    | dict.fromkeys((Link.EXPLORATION, Link.FRESHNESS), without(Method.SUPERVISED, Method.PREFERENCE))
)

_NAMES: Mapping[str, Member] = {member.value: member for axis in (Policy, Method, Data) for member in axis}
#: what a table calls them, groups of them included
NAMED: Mapping[str, tuple[Member, ...]] = {name: (member,) for name, member in _NAMES.items()} | {
    "unknown": (UNKNOWN,),
    "sampled": SAMPLED,
    "graded": GRADED,
}
_TAG = rf"((?:{'|'.join(_NAMES)})(?:, (?:{'|'.join(_NAMES)}))*): (?=\S)"
_TAGGED = pattern(_TAG)
_LINES = pattern(rf"^((?:- )?){_TAG}", re.MULTILINE)


def for_family(text: str, family: Family) -> str | None:
    """A line without the families that it begins with; None where the run belongs to none of them."""
    tag = _TAGGED.match(text)
    if tag is None:
        return text
    return text[tag.end() :] if _named(tag).include(family) else None


def in_words(text: str) -> str:
    """The text of a page that is for every run: lines that begin with families say for whom they hold in words."""
    return _LINES.sub(lambda line: f"{line[1]}{str(_named(line, 2)).capitalize()}: ", text)


def _named(tag: re.Match[str], group: int = 1) -> Families:
    return only(*(_NAMES[name] for name in tag[group].split(", ")))
