"""Everything else that prints names and numbers.

    INFO - Epoch 1/3, Step 10, Loss: 0.0012            hand-written loops
    Epoch:[1/2](100/9751), Reward: -1.8, KL_ref: 0.01  MiniMind: update 100 of 9751 in the first of two epochs
    step 7 SKIP rewards=[0, 0, 0, 0]                   a list: its mean, and of rewards the spread in their group
    [INFO] Walker. Step: 20000. Time Elapsed: 13.5 s. Mean Reward: 2.3. Std of Reward: 0.7. Training.    ML-Agents
    Episode 0020/700 | loss 0.1551 | win rate (last 100) 0.03 | saved
    2026-03-03 08:12:04 INFO validation @ step 12: exact_match 0.49 avg_len 2.64
    iter   2 | kl 0.003 | action mean -0.02 std 0.48 min -0.96 max 0.94 | per vector step: env 1.23 ms, replay 0.78 ms
      • Total step time: 35.20s                                          NeMo-RL, below "Training Results:"
    Test episode of length 1000 with return 29.2.                        Episode 3 finished after 12 steps with reward 9
    10000/10000 [=======] - 66s - reward: -7.3978                        Keras; keras-rl's reward is that of a step
    losses/q1_loss 132.25 102000        losses/alpha [0.0095] 102000     a tag, its value and the step
    [Learner] Loss = 0.058 | Steps = 70 | Walltime = 4.277               Acme, beside [Environment Loop]
    grpo_loss is -0.22 and kl is 0.211     Evaluation Total Steps: 2000 Average Reward -500.0 over 5 episodes
    [train: 120, 20 / 125] FPS: 19.3 (29.0) , Loss/total: 0.5            pytracking: batch 20 of 125 in epoch 120

The counters of a line (global_step, epoch, episode, ...) become columns like the rest, in lower case.
"""

import re

from firstbreak.dialects import generic
from firstbreak.readers._columns import CLOCK, of_group, on_split, seconds, split_prefix
from firstbreak.readers._literal import parse
from firstbreak.readers.console._reading import BARE, VALUE, LineKind, ParsedLine, scaled
from firstbreak.values import replace

_COUNTER = re.compile(
    r"""(?<!steps/) (?<!episode[ ]) (?<!ep[ ]) \b(?P<name> (?:(?:global|total|train)[_ ])?
        (?:(?:step|time[_ ]?step|frame|iteration|iter|update|episode|epoch)s?|ep|t_env|version(?==)|round|game|generation) )\b
        [ :=#]* \[? (?P<count>\d+) (?!\d|\.\d)""",
    re.VERBOSE | re.IGNORECASE,
)
_LAP = re.compile(r"\bepoch\W{0,3}(\d{1,6})/\d{1,6}\W{0,3}\((\d{1,9})/(\d{1,9})\)", re.IGNORECASE)
_ASSIGNED = re.compile(rf"[:=][ \t]{{0,40}}{VALUE}(?: s\b)?(?! \.\.)(?=[\s,;|)\]}}]|\.(?:\s|$)|$)")
_NAME = re.compile(r"(?<![\w./@-])[^\W\d][\w/@%+-]*(?: [A-Za-z_(][\w/@%()+-]*){0,3} ?$")
_SPOKEN = re.compile(
    r"""(?:\d+\.[ ]+)? \W* (?:(?<=\[)[A-Za-z][\w-]{0,20}\]\s+)? (?:train[ ]\|[ ])? (?:(?:epoch|ep)[ ]+(?P<epoch>\d+)[ ,]+)?
        (?: s(?P<short>0\d+) | (?:(?:time|global|train|env|total)[ _]?)?
            (?:iter|iteration|it|step|epoch|update|upd|u|t|episode|ep)s? (?:\W{0,2}[ ]*) (?P<counted>\d+)
            | (?P<alone>\d+) (?=[ ]?/[ ]?\d|\]) )
        (?:[ ]?/[ ]?\d+)? \]? (?:\s*[:|,;]\s*|\s+/\s+|\s+-?\s*) (?=[A-Za-z])""",
    re.VERBOSE | re.IGNORECASE,
)
#: `losses/alpha [0.0095] 102000`, as writers of summaries take it; `[train: 120, 20 / 125]`: a batch of an epoch
_TAGGED = re.compile(rf"(?P<name>[A-Za-z_][\w.-]*(?:/[\w.-]+)+) {VALUE} (?P<step>\d+)")
_LOADER = re.compile(r"\[(train|val|test)\w*: (\d+), (\d+) / (\d+)\](?=[ ,])")
#: the loggers of Acme, whose tables call these `learner_steps` and `actor_steps`
_ACME = re.compile(r"\[(Learner|Environment Loop)\] (?=[A-Z][\w ]* = )")
_LEVELS = "(?:INFO|DEBUG|WARNING|ERROR|TRACE|SUCCESS)"
#: `2026-03-03 08:12:04,123 INFO trainer: `, `[INFO 08:12:04] my_main ` before what a logger says: time, level and its name
STAMP = re.compile(
    rf"\W{{0,2}}(?:{_LEVELS}\W{{1,3}})?(?:\d{{4}}-\d\d-\d\d[ T])?\d\d:\d\d:\d\d(?:[.,]\d+)?\S{{0,6}}?[\s\]|:-]+"
    rf"(?:\[\d+\]\s*)?"
    rf"(?:(?:\[?[\w.-]+[\s|\]:-]+)?\[?{_LEVELS}\]?[\s|:-]+)?"
    r"(?:\([\w.]+:\d+\) |[\w.]+: (?=[A-Za-z\[])|[\w.<>]+:[\w.<>]+:\d+ - |(?:my_main|__main__|root|[A-Za-z_]\w*(?:\.\w+)+) )?"
    r"|Time \d+h \d+m \d+s, |\W{0,2}\d{4}-\d\d-\d\d[\s\]|:-]+(?=[A-Za-z])"
)
#: `TRAIN step=3 ` beside lines that begin with `VALID step=3 `
_TRAIN = re.compile(
    r"\W*train(?:ing)?\W{1,4}(?=(?:iter|iteration|it|step|epoch|update|episode|ep|version)\W{0,2}\d)", re.IGNORECASE
)
#: `-257.4 +- 63.2`: the deviation says how sure the mean is, and is no metric of its own
_DEVIATION = re.compile(rf"(?<=[\d.]) {{0,4}}(?:\+/?-|±) {{0,4}}{BARE}")
#: `validation @ step 12: `: the numbers of the line are of held-out data
_HELD = re.compile(
    r"\W*(?:(?:eval|evaluation|val|valid|validation|test)\b\W{0,4}(?:at\b\W*)?"
    r"(?=(?:(?:total|global|env)[ _])?(?:iter|iteration|it|step|epoch|update|episode|ep)s?\W{0,9}\d)"
    r"|(?:eval|evaluation|dev|val|validation|test)\W{1,8}(?=\w+ ?=)"
    r"|(?:eval|evaluation|dev|val|validation|test): +(?=[a-z_]\w* +[-+]?\d)"
    r"|(?:evaluating|validating|testing)\b\W{1,8}(?=\w[\w ]{0,30}[:=]))",
    re.IGNORECASE,
)
#: `Average Reward -500.0 over 5 episodes`; `loss is -0.2 and kl is 0.01`
_SCORED = re.compile(r"\b((?:average|mean|avg|total) (?:reward|return|score)) +(?=[-+]?\d)", re.IGNORECASE)
_IS = re.compile(rf"(?:(?<=\d)(?: and|,) )?\b([A-Za-z_]\w*) is (?={BARE}(?:[\s,;]|$))")
#: `metric=top1 value=0.05`
_LONG = re.compile(rf"(?:\bsplit=\w+[ ,]+)?\bmetric=([A-Za-z_][\w/@-]*)[ ,]+value=({BARE})")
#: `[play] rl_model_10240_steps.zip episodes=20 mean_reward=47`: what a saved checkpoint scores, at the step of its name
_PLAYED = re.compile(
    r"(?!.*\b(?:sav|writ|stor|resum)\w*\b)(?:\[\w+\] )?(?:\S{1,200}[ :]+)??\S{0,200}?"
    r"(?:(?:checkpoint|ckpt)\w{0,20}?[_-](?P<saved>\d+)|[_-](?P<file>\d+)(?:_steps)?(?=\.(?:zip|pth?|ckpt|safetensors)\b))"
    r"\S{0,20}[ ,|]+(?=.*(?:reward|return|score|success|acc)\w* ?[=:])",
    re.IGNORECASE,
)
#: `   eval return 23.5` below the line of its step
_EVALUATED = re.compile(
    rf"\s*(?:eval|evaluation|validation|heldout|test)\b +(?P<what>(?:return|reward|score|accuracy|acc|success) +)?{VALUE}\s*"
)
#: `>> eval@50: R -0.05 succ 0.475`; `train R -0.403 succ 0.53` in a cell: whose numbers they are
_AT = re.compile(r"\W*(eval|evaluation|val|validation|test)@(\d+)\b\W*", re.IGNORECASE)
_PHASE = re.compile(r"(?:train|rollout|vs\[[^\]]*\]) +(?=[A-Za-z_]\w* +[-+]?\d)", re.IGNORECASE)
_APART = re.compile(r"\s*[|,;]\s*|\s{2,}|\s[-/]\s")
_CELLS = re.compile(r"\||(?<=\d) \+ (?=[A-Za-z])")
_SAID = re.compile(
    rf"\s*(?P<name>[A-Za-z_][\w/%-]*(?: [A-Za-z_][\w/%-]*){{0,3}})(?: \([\w ]{{1,20}}\))? {VALUE}"
    rf"(?: \+[-/]+ {BARE})?(?: ?[A-Za-z/]+)?\.?\s*"
)
#: `return   23.5`, `kept 132/144`: numbers in columns, and so many of how many
_WORD_AND_NUMBER = re.compile(rf"(?<![\w/%-])(?P<name>[A-Za-z_][\w/%-]{{0,60}}) +{VALUE}(?:/{BARE})?(?=\s|$)")
_BRACKETS = re.compile(r" \([^()]{0,60}\)| \[[^\[\]]{0,200}\]")  #: what explains the number before it
_STATISTIC = "(?:min|mean|avg|max|std|median)"
_TOGETHER = re.compile(
    rf"(?P<name>[A-Za-z_]\w{{0,40}})[ (](?P<statistics>{_STATISTIC}(?:/{_STATISTIC}){{1,4}})\)?[:=]? *"
    rf"(?P<values>{BARE}(?:/ {{0,12}}{BARE}){{1,4}})"
)
_SWAPPED = re.compile(rf"\b({_STATISTIC}(?:/{_STATISTIC}){{1,4}}) ([A-Za-z_]\w{{0,40}})(?=[:=]? *{BARE}/)")
_THOUSANDS = re.compile(r"(?<![\w.,\[(])\d{1,3}(?:,\d{3})+(?![\w,])")
#: `Reward: mean=3.1, std=1.4`: what the statistics are of
_OF = re.compile(rf"\s*(?P<name>[A-Za-z_][\w -]{{0,40}}): *(?={_STATISTIC} ?=)")
_TITLE, _TITLE_WORDS = 80, 8  #: characters and words of a heading
#: `ret(100)`, `kl(mu||pi)`: of the last 100 episodes, and of one policy from another
_WINDOW = re.compile(r"(?<=[a-z])\(\d{2,5}\)(?= ?[:=]| +[\d-])")
_DIVERGENCE = re.compile(r"\b(kl)\((\w+)\|\|(\w+)\)", re.IGNORECASE)
#: `kl(ref) 0.01`: what it is of; `|g| 0.18`: the norm of the gradient
_OF_WHAT = re.compile(r"\b([A-Za-z_]\w*)\(([A-Za-z_]\w*)\)(?= ?[:=]| +[\d-])")
_NORM = re.compile(r"(?<![\w.])\|{1,2}(?:g|grads?|∇\w?)\|{1,2}(?= ?[:=]| +\d)")
_MEAN_OF_EPISODES = re.compile(r"\W*(?:eval|evaluation|test) (?:over|using|on) \d+ episodes?(?=: )", re.IGNORECASE)
#: `action mean -0.02 std 0.48`: statistics of one name in a cell; `per step: env 1.2 ms, replay 0.8 ms`: times of one
_STATISTICS = re.compile(rf"(?P<name>[A-Za-z_]\w{{0,40}})(?P<each>(?: {_STATISTIC} {BARE}){{2,6}})")
_TIMES = re.compile(
    rf"(?:[A-Za-z ]{{1,40}}: )?(?P<each>[A-Za-z_]\w{{0,40}} {BARE} ms(?:,? [A-Za-z_]\w{{0,40}} {BARE} ms){{1,8}})"
)
_BULLET = re.compile(rf"\s*[•▶]\s*(?P<name>[A-Za-z_][\w /().-]*?):\s*{VALUE}")
_NAME_LENGTH = 80
_LIST = re.compile(rf"[:=] ?\[(?P<items>{BARE}(?:[,\s] ?{BARE}){{1,4095}})\]")
_NONE = re.compile(r"[:=] ?(?:None|null)(?=[\s,;|)\]}]|$)")
_LEVEL = re.compile(rf"(?:\w+ +)?(?:SKIP(?:PED|PING)?|{_LEVELS}) +")
#: `Test episode of length 1000 with return 29.2`, `Episode 3 finished after 12 steps with a total reward of 9`
_ENDED = re.compile(
    rf"""(?:\b(?P<phase>train|test|eval|val)[a-z]*\W{{1,3}})? \bepisode\W{{0,4}}(?:(?P<count>\d+)(?:/\d+)?\W{{1,3}})?
        (?:of\ length|(?:is\ |has\ |was\ )?(?:finished|done|ended|completed|took|lasted|solved|truncated
            |terminated|failed|died|crashed|over)\b)
        (?:\ ?(?:after|in|at)?\ (?:step\ )?(?P<length>\d+)\b(?:\ (?:time)?steps?)?)?
        (?:\W{{0,3}}(?:with|and|got|a|an|total|final|\ ){{1,8}}(?P<word>reward|return|score)
        [\ :=]{{0,2}}(?:(?:of|is)[\ :=]{{1,2}})?(?P<value>{BARE}))?""",
    re.VERBOSE | re.IGNORECASE,
)
#: `lag: (min: 1.0, avg: 2.0)`: statistics of one name; `is (10 sec: 9.0, 60 sec: 8.0)`: the shortest window counts
_INSIDE = re.compile(
    rf"\b(?P<name>[A-Za-z][\w# ]{{0,40}}?)(?: is|:) ?\((?P<each>[\w ]{{1,20}}: ?{BARE}(?:, [\w ]{{1,20}}: ?{BARE}){{0,5}})\)"
)
#: `ValuePred(mean=1.2, std=0.4)`, `GradNorm(P=24.0, V=76.6)`: several numbers of one name
_ARGUMENTS = re.compile(
    rf"\b(?P<name>[A-Za-z_]\w{{0,40}})\((?P<each>\w{{1,20}} ?[=:] ?{BARE}(?:, ?\w{{1,20}} ?[=:] ?{BARE}){{1,8}})\),?"
)
#: `(collection: 1.7s, learning 0.5s)` of rsl_rl
_TIMED = re.compile(r"(?<=\ds, )([a-z]{2,20}) (?=\d{1,9}\.\d{1,9}s\))")
#: `best of last batch  reward=0.99`, `New best model! Reward: -257`: no measurement of this step
_BEST = re.compile(r"\b(?:best|highest|record)\b", re.IGNORECASE)
#: `Agent success rate 0.0415`: a line of words and one number
_ONE = re.compile(
    r"\W{0,4}(?P<name>[A-Za-z_][\w%-]{0,40}(?: [A-Za-z_][\w%-]{0,40}){1,3}) (?P<value>-?\d{1,9}\.\d{1,20})\s*"
)
_DURATION = re.compile(rf"(\b(?:time[_ ])?elapsed(?:[_ ]time)?['\"]? ?[:=] ?['\"]?){CLOCK}", re.IGNORECASE)
_FRACTION = re.compile(r"\W{0,3}epoch (\d{1,5}\.\d{1,9})[\s\]:|,-]{1,6}", re.IGNORECASE)  #: `[Epoch 0.61]  loss=0.01`
_KERAS = re.compile(
    r"^(\d+)/\1 \[=+\](?: - [\d:.]+\w{0,2}(?: [\d.]+\w{1,2}/\w+)?)? - (?P<reward>(?=reward: ))?(?=\w+: )"
)
_OF_POLICY = re.compile(rf"(?<=Throughput: )0: |\[\(0, '({BARE})'\)[^\]]{{0,400}}\]")
_BLOCK = re.compile(
    rf"\s*(?P<name>[A-Za-z][\w/%()-]*(?: [\w/%()-]+){{0,7}})(?::\s{{2,}}|:?\s?\t\s*){VALUE}(?: (?P<time>sec|min|hour)\w*)?\s*"
)
_POINT = re.compile(r"^[^\w([{<'\"]{1,8}(?=[A-Za-z])")  #: `- `, `├─ ` or a picture before a line
_LABEL = re.compile(r"\w[\w ]{0,30}: (?=[A-Za-z_]\w* ?=)")
_LONGEST = 400  #: characters of a line of names and numbers without a step
_MAX_LINE = 10_000  # longer lines are dumps of tensors or text, not a handful of metrics


def read(line: str) -> ParsedLine | None:
    """A whole row: with its counters, if the line has any; a weak one without."""
    if len(line) > _MAX_LINE:
        return None
    if "•" in line and (bullet := _BULLET.match(line)):
        return ParsedLine({bullet["name"]: scaled(bullet)}, kind=LineKind.FRAGMENT)
    if line.startswith("[") and (acme := _ACME.match(line)):
        who = "learner" if acme[1] == "Learner" else "actor"
        values = {name.lower().replace(" ", "_"): value for name, value in _pairs(line[acme.end() :]).items()}
        return ParsedLine({f"{who}_{n}" if n in ("steps", "episodes", "walltime") else n: v for n, v in values.items()})
    stamp = STAMP.match(line)
    line = line[stamp.end() :] if stamp else line
    if "/" in line and (tagged := _TAGGED.fullmatch(line.rstrip())):
        return ParsedLine({tagged["name"]: scaled(tagged), "global_step": float(tagged["step"])})
    own = _BLOCK.fullmatch(_DEVIATION.sub("", line)) if ":  " in line or "\t" in line else None
    if own and _COUNTER.fullmatch(f"{own['name']} 0"):
        line = f"{own['name']}: {own['value']}"
    elif own:
        value = scaled(own) * {"min": 60.0, "hour": 3600.0}.get(own["time"], 1.0)
        return ParsedLine({own["name"]: value}, kind=LineKind.FRAGMENT, weak=True)
    if (alone := _EVALUATED.fullmatch(line)) and "." in line:
        return ParsedLine(
            {f"eval/{(alone['what'] or 'score').strip()}": scaled(alone)}, kind=LineKind.FRAGMENT, weak=True
        )
    if line.startswith("Episode length: ") and "+/-" in line:  # the second line of SB3's EvalCallback
        line = f"Evaluating {line}"
    if line.count(" / ") > 2:  # `TIMESTEP 963 / STATE observe / REWARD 0.1`: cells of words alone say no number
        line = " / ".join(cell for cell in line.split(" / ") if any(map(str.isdigit, cell)))
    line = _plain(_printed(line) if line[:1] in "([" and "'" in line else line)
    if ":" in line and (of := _OF.match(line)) and (each := read(line[of.end() :])):
        return replace(each, values={on_split(name, f"{of['name']}/"): v for name, v in each.values.items()})
    line = _AT.sub(r"\1 step=\2 | ", line, count=1) if "@" in line and _AT.match(line) else line
    if played := _PLAYED.match(line):
        line = f"eval step={played['saved'] or played['file']} {line[played.end() :]}"
    if "metric=" in line:
        line = _LONG.sub(r"\1=\2", line)
    held = _HELD.match(line)
    phase = held or _TRAIN.match(line)
    line = line[phase.end() :] if phase else line
    if "episode" in line and (of_episodes := _MEAN_OF_EPISODES.match(line)):
        held, rest = of_episodes, line[of_episodes.end() + 2 :]
        line = rest if rest[:1].isalpha() else f"return: {rest}"
    spoken = _SPOKEN.match(line)
    values = _pairs(line[spoken.end() :] if spoken and spoken["short"] else line) if ":" in line or "=" in line else {}
    if (spoken or held) and (not values or " | " in line):
        text = line[spoken.end() if spoken else 0 :]
        head = ":" if not spoken or (held and " | " not in line) else spoken[0]
        values = {**_said(head, _BRACKETS.sub("", text).strip()), **values}
    if not values:
        columns = len(line) <= _LONGEST and len(_WORD_AND_NUMBER.findall(line)) > 2  # `rl   3 score -0.02 kl 0.001`
        several = line.count(",") > 1 or (columns and not _WORD_AND_NUMBER.sub("", line).strip())
        several = several and not spoken and " | " not in line
        alone = _ONE.fullmatch(line) if line[-1:].isdigit() and not spoken else None
        if alone and generic.translate(alone["name"]):
            return ParsedLine({alone["name"]: float(alone["value"])}, kind=LineKind.FRAGMENT, weak=True)
        return _heading(line, held is not None) or (_weak(line, _said(":", line.strip())) if several else None)
    if held:
        values = {on_split(name, "eval/"): value for name, value in values.items()}
    counters = {_counter_name(found): float(found["count"]) for found in _COUNTER.finditer(line)}
    if spoken and (not counters or spoken["epoch"]):
        counters = {"epoch": float(spoken["epoch"])} if spoken["epoch"] else {}
        counters["step"] = float(spoken["counted"] or spoken["alone"] or spoken["short"])
    elif spoken and spoken["alone"] and counters.keys() == {"episode"} and "/" in spoken[0]:
        counters["step"] = float(spoken["alone"])  # keras-rl: `43587/50000: episode: 588, ...`
    if lap := _LAP.search(line):
        epoch, update, updates = map(float, lap.groups())
        counters["step"] = (epoch - 1) * updates + update
    if not counters:
        return ParsedLine(values, nulls=_nulls(line)) if held else _weak(line, values)
    others = {name: value for name, value in values.items() if not _COUNTER.fullmatch(f"{name} 0")}
    if not others and len(counters) > 1 and "|" in line:
        return ParsedLine(counters, kind=LineKind.FRAGMENT)  # the heading of a block
    if not others and not re.search(r"[^\W\d_]", _COUNTER.sub("", line)):
        return ParsedLine(counters, kind=LineKind.HEADING, weak=True)
    return ParsedLine({**counters, **others}, nulls=_nulls(line)) if others else None


def _printed(line: str) -> str:
    """The texts and numbers of a tuple or list that was printed, as a line of names and numbers."""
    try:
        items = parse(line.strip())
    except ValueError:
        return line
    plain = isinstance(items, list) and {*map(type, items)} <= {str, int, float}
    said = (f" {item.strip(' :=,')}" if isinstance(item, str) else f": {item!r}," for item in items)
    return "".join(said).strip(" :,") if plain else line


def _plain(line: str) -> str:
    """Names without the window of a mean, and each statistic of `lag(min/mean/max)=0/1/3` as a pair of its own."""
    line = _LOADER.sub(r"\1 Epoch:[\2/\2](\3/\4), ", line) if line.startswith("[") else line
    if "pisode" in line:
        line = _ENDED.sub(_said_of_episode, line, count=1)
    if "] - " in line:
        line = _KERAS.sub(lambda bar: "" if bar["reward"] is None else "step_", line)
    if "(" in line:
        line = _INSIDE.sub(_inside, _OF_POLICY.sub(r"\1", _TIMED.sub(r"\1: ", line)))
        line = _ARGUMENTS.sub(
            lambda found: ", ".join(f"{found['name']}_{pair.strip()}" for pair in found["each"].split(",")) + ", ", line
        )
        line = _OF_WHAT.sub(r"\1_\2", _DIVERGENCE.sub(r"\1_\2_\3", _WINDOW.sub("", line)))
    if "|" in line:
        line = _NORM.sub("grad_norm", line)
    if "+-" in line or "+/-" in line or "±" in line:
        line = _DEVIATION.sub("", line)
    if " is " in line:
        line = _IS.sub(r", \1 = ", line).lstrip(", ")
    if ":" in line and ("eward " in line or "eturn " in line or "core " in line):
        line = _SCORED.sub(r"\1 = ", line)
    line = _FRACTION.sub(r"epoch: \1, ", line) if "." in line[:20] else line
    line = _DURATION.sub(lambda found: f"{found[1]}{seconds(found)!r}", line) if line.count(":") > 2 else line
    line = _THOUSANDS.sub(lambda found: found[0].replace(",", ""), line) if "," in line else line
    return _TOGETHER.sub(_each, _SWAPPED.sub(r"\2 \1", line)) if "/m" in line or "/std" in line else line


def _said_of_episode(found: re.Match[str]) -> str:
    """The end of an episode in pairs; one of a phase has the names that Dreamer's files have."""
    phase = f"{found['phase'].lower()}/" if found["phase"] else ""
    names = ("episode", f"{phase}length" if phase else "episode_length", f"{phase}{found['word']}".lower())
    pairs = zip(names, found.group("count", "length", "value"), strict=True)
    return ", ".join(f"{name}: {value}" for name, value in pairs if value) or found[0]


def _inside(found: re.Match[str]) -> str:
    name, each = re.sub(r"\W+", "_", found["name"].strip()), found["each"].split(", ")
    of_name = [f"{name}_{pair}" for pair in each if re.match(f"{_STATISTIC}:", pair)]
    return ", ".join(of_name) or f"{found['name']}: {each[0].partition(':')[2]}"


def _heading(line: str, held: bool) -> ParsedLine | None:
    """`Epoch 3/10`, `---- Iteration #50 ----`, `Eval metrics at step 6:`, `Evaluation Results:`; a sentence is none."""
    if len(line) > _TITLE or len(line.split()) > _TITLE_WORDS:
        return None
    counters = {_counter_name(found): float(found["count"]) for found in _COUNTER.finditer(line)}
    rest = re.sub(r"/\d+", "", _COUNTER.sub("", line)).rstrip() if counters else line.rstrip()
    words = re.findall(r"[^\W\d_]+", rest)
    held = held or any(map(split_prefix, words))
    named = (rest and (rest[-1] in ":=-#*]>─━" or rest[-3:] == "...")) or (counters and (held or not words))
    if not (counters or held) or not named or re.search(r"\d", rest):
        return None
    return ParsedLine(counters, kind=LineKind.HEADING, prefix="eval/" if held else "")


def _each(found: re.Match[str]) -> str:
    statistics, values = found["statistics"].split("/"), found["values"].split("/")
    if len(statistics) != len(values):
        return found[0]
    pairs = zip(statistics, values, strict=True)
    return " ".join(f"{found['name']}_{statistic}={value.strip()}" for statistic, value in pairs)


def _counter_name(found: re.Match[str]) -> str:
    """One name for all spellings: "Global step" is global_step, "Time step" is timestep, "Ep" is episode."""
    name = found["name"].lower().replace(" ", "_").replace("time_step", "timestep")
    return "episode" if name == "ep" else name


def _pairs(line: str) -> dict[str, float]:
    """Every `name: number` and `name = number`."""
    values: dict[str, float] = {}
    if "[" in line and _LIST.search(line):
        for found in _LIST.finditer(line):
            if name := _name_before(line, 0, found.start()):
                values.update(_of_list(name, [float(item) for item in re.split(r"[,\s]+", found["items"])]))
        line = _LIST.sub(lambda found: ";".ljust(len(found[0])), line)
    start = 0
    for assigned in _ASSIGNED.finditer(line):
        if name := _name_before(line, start, assigned.start()):
            first = not start and _BEST.search(line[: assigned.start() - len(name)])
            values[f"best {name}" if first else name] = scaled(assigned)
        start = assigned.end()
    return values


def _nulls(line: str) -> frozenset[str]:
    """The names with None behind them."""
    places = _NONE.finditer(line) if "None" in line or "null" in line else ()
    return frozenset(filter(None, (_name_before(line, 0, found.start()) for found in places)))


def _name_before(line: str, start: int, end: int) -> str | None:
    found = _NAME.search(line[max(start, end - _NAME_LENGTH) : end])
    if found is None:
        return None
    _, opened, inside = found[0].rpartition("(")  # `steps/s (collection: 1.085s`
    return _LEVEL.sub("", inside if opened and ")" not in inside else found[0], count=1).rstrip() or None


def _of_list(name: str, items: list[float]) -> dict[str, float]:
    """The mean of a list, with the spread where it is of rewards."""
    return of_group(name, items) or {name: sum(items) / len(items)}


def _said(head: str, text: str) -> dict[str, float]:
    """Every `name number` after a step, apart by commas, bars or spaces: if nothing else is there, it is no sentence.

    Where single spaces keep them apart, names have one word. One pair alone needs a mark between itself and the step. Where
    bars keep them apart, more than half have to be pairs.
    """
    bars = head.rstrip().endswith("|") or " | " in text
    parts = [" ".join(part.split()) for part in _CELLS.split(text)] if bars else _APART.split(text)
    found = [_SAID.fullmatch(part) for part in parts]
    if bars:  # `eps 0.1 alpha 0.2` in one cell
        rest = [_PHASE.sub("", part) for part, match in zip(parts, found, strict=True) if match is None]
        several = [list(_WORD_AND_NUMBER.finditer(p)) for p in rest if not _WORD_AND_NUMBER.sub("", p).strip()]
        found += [match for pairs in several for match in pairs]
    if not all(found) and not _WORD_AND_NUMBER.sub("", text).strip():
        found = list(_WORD_AND_NUMBER.finditer(text))
    cells = list(filter(None, map(_cell, parts))) if bars else []
    enough = len(found) > 1 or head.rstrip().endswith((":", "|", ",", ";"))
    barred = bars and len(cells) + sum(match is not None for match in found) > len(found) / 2
    said = {match["name"]: scaled(match) for match in found if match}
    return {name: v for cell in (*cells, said) for name, v in cell.items()} if enough and (all(found) or barred) else {}


def _cell(text: str) -> dict[str, float]:
    """What a cell says of one name in several statistics, or of the time (in seconds) of each part of a step."""
    if said := _STATISTICS.fullmatch(text):
        words = said["each"].split()
        return {f"{said['name']}_{name}": float(v) for name, v in zip(words[::2], words[1::2], strict=True)}
    if text.endswith(" ms") and (said := _TIMES.fullmatch(text)):
        words = said["each"].replace(",", "").split()
        return {f"time_of_{name}": float(v) / 1000 for name, v in zip(words[::3], words[1::3], strict=True)}
    return {}


def _weak(line: str, values: dict[str, float]) -> ParsedLine | None:
    """Numbers without a step: several in one line, or a line that is `name: number` or `label: name=number`.

    A lone letter is a variable of a text that was printed (a completion, say), and no metric.
    """
    values = {name: value for name, value in values.items() if len(name) > 1}
    if not values:
        return None
    if len(values) > 1:
        kind = LineKind.FRAGMENT if "\t" in line else LineKind.ROW  # a block in columns
        return ParsedLine(values, kind=kind, weak=True, nulls=_nulls(line))
    (name,) = values
    line = _LABEL.sub("", _POINT.sub("", line.strip()))
    solo = re.match(r"\s*[:=]", line[len(name) :]) and len(line.split()) <= len(name.split()) + 2
    return ParsedLine(values, kind=LineKind.FRAGMENT, weak=True) if solo and line.startswith(name) else None
