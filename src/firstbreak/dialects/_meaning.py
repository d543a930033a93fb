"""A name that is listed nowhere, read by what its words say: quantity x statistic x phase x unit.

Each word is one of its synonyms' atoms (`rew`, `rewards` -> reward; `frac`, `rate`, `pct` -> share). Statistics, units and
the words for held-out data are taken off; what is left must be exactly one quantity. **Every word has to be accounted for**:
`kl_to_base` is a divergence from the reference model, and `vae_kl` is nothing, because nobody knows what its `vae` does to
it. A wrong reading is worse than none.
"""

import re
from collections.abc import Iterable, Iterator, Set
from functools import lru_cache

from firstbreak.dialects._table import Name, Origin, entries, spelled, word_set
from firstbreak.dialects.signals import evaluation, lookup
from firstbreak.model import Link
from firstbreak.patterns import pattern
from firstbreak.values import dataclass

NOTE = "read by meaning"


@dataclass(frozen=True)
class Company:
    """What the names beside a name say of the run."""

    language: bool = False  #: completions, prompts, tokens: the policy writes text
    control: bool = False  #: episodes of an environment
    critic: bool = False  #: a value function is trained
    preference: bool = False  #: pairs of a chosen and a rejected answer
    values: bool = False  #: what learns are values of actions, and no policy
    reference: bool = False  #: another name is the divergence from the reference model
    reward: bool = False  #: the whole reward is logged, so that other rewards are parts of it
    penalty: bool = False  #: a coefficient of a divergence is logged
    judge: bool = False  #: a reward model is trained
    fitted: bool = False  #: a critic is trained, and advantages or its mean value are logged
    text: bool = False  #: only texts, and no environment
    game: bool = False  #: only an environment, and no texts
    wordless: bool = False  #: no texts
    unpaired: bool = False  #: no answers of which one is chosen


#: in which company a name that was taken for this is that
_BESIDE_OF = """
    judge: pref.reward.accuracy=rm.accuracy reward.accuracy=rm.accuracy pref.reward.margin=rm.margin pref.reward=rm.reward
        loss.total=rm.loss |
    preference: loss.total=pref.loss reward.accuracy=pref.reward.accuracy eval.accuracy=eval.pref.reward.accuracy |
    unpaired: pref.reward.accuracy=reward.accuracy | values: loss.total=value.loss | language: time.iteration=time.step |
    text: epsilon=policy.clip_range progress.episodes=samples.step | wordless: throughput.tok_s=custom.throughput
        sft.ppl.mean=custom.perplexity |
    game: length=episode.length eval.length=eval.episode_length
"""
_BESIDE = tuple(entries(_BESIDE_OF))


def beside(signal: str, company: Company) -> str:
    """What a plain name stands for in this company."""
    for where, meanings in _BESIDE:
        for pair in meanings.split() if getattr(company, where) else ():
            before, _, after = pair.partition("=")
            if signal == before or signal.startswith(f"{before}."):
                return after + signal.removeprefix(before)
    return signal


# atom: its spellings; an atom is a spelling of itself
_SYNONYMS = """
    reward: rewards rew rews r rw rwd | return: returns ret rets rtn rtns pnl profit | score: scores fitness | episode: ep epi
    episodes episodic game games trajectory trajectories traj | length: lengths len lens | completion: completions response
    responses resp output outputs generated | gen: generation generate generating generations | token: tokens tok toks ntok |
    prompt: prompts query queries question questions problem problems | policy: pi pol actor p akteur | pg: surrogate surr |
    critic: value values vf vfn v qs vals vvals vpred vpreds q qf q0 q1 q2 qf1 qf2 q1vals q2vals critic1 critic2 qbar vbar
    qhat | loss: losses term | entropy: ent entropies entropie entropia | kl: kld kldiv kls kl1 kl2 kl3 | ref: reference base
    sft init initial pretrained frozen0 start anchor prior | old: prev previous | behave: behav behavior behaviour | prox:
    proximal | clip: clipped clipping clips clipfrac | grad: gradient gradients grads | advantage: adv advs advantages |
    share: frac fraction fracs fractions rate rates proportion prop freq frequency share | percent: pct percentage perc | acc:
    accuracy accuracies em | correct: right ok | incorrect: wrong | success: successes succ win wins winning solved successful
    resolved | trunc: truncated truncation truncations overlong overlength unfinished capped | eos: terminated finished
    stopped | repeat: repetition repetitions repetitive repeated repeats rep | refuse: refusal refusals refused refuses |
    violate: violation violations violating unsafe harmful | tool: tools sbx sandbox sandboxes | retry: retries | action:
    actions act acts | call: calls invocation invocations use uses | fail: failure failures failed error errors err errs
    timeout timeouts | invalid: malformed unparsable unparseable | parse: parsing | turn: turns round | time: duration latency
    times clock | wait: waiting idle stall | rollout: rollouts sampling sampler collect collection collector inference roll
    actors generator | sample: samples | engine: vllm sglang infer samp eng srv server | trainer: learner trn lrn | learn:
    learning | update: updates upd upds | optim: optimizer optimiser optimization opt | sync: synchronization | verify:
    verification verifier scoring judge grading | stale: staleness age lag | memory: mem rss ram resident | gpu: cuda | util:
    utilization utilisation | logp: logps logprob logprobs lp logpi | margin: margins | pref: preference preferences dpo kto
    orpo simpo ipo | sequence: seq sequences | group: groups grp grouped grps | mixed: mix | target: targets targ tgt lagged |
    pred: predict predicted | step: steps | iter: iters iteration iterations it | count: num n number idx | coef: coeff
    coefficient beta weighting multiplier | format: formatting formatted fmt | buffer: replay buf | weight: weights | env:
    environment sim | interact: interacts interactions | noise: sigma | importance: is iw w rho | epsilon: eps ε | rnd: icm
    curiosity | rm: rewardmodel | total: cumulative cum overall sum tot composite combined | flat: uninformative degenerate
    degen silent dead uniform tied identical | param: params parameter parameters | done: completed ended seen played |
    skipped: dropped discarded | bounds: bound | intrinsic: int intr | frame: frames fr | abs: absolute magnitude | diff:
    difference gap | filter: filtered | objective: obj | version: ver rev revision versions | wall: wallclock | elapsed:
    runtime
"""
_ATOMS = {word: atom for atom, words in entries(_SYNONYMS) for word in (atom, *words.split())}

# Words that mean something together, or are written as one. The longest is tried first.
_PHRASES_OF = """
    clip share: clipfrac, clipfracs, clipf, clipfr, clp, clip hit | grad norm: gnorm, gradnorm, g norm, gn, grad l2, l2 grad,
    grad mag, gradient magnitude, size of gradient, abs grad, abs g, grad total, gradl2, gradn, gnrm, grad before clip, gnorm
    l2, gradnorm l2, grad l2norm, grad glob, gradient size | norm: norm before clip, norm pre clip | approx kl: approxkl,
    approxkls | episode return: epret, ret ep, rew ep, return ep | episode length: eplen, plies, steps survived, ep ticks,
    battle length, life length, survival steps, steps per episode, steps per game, flight steps, moves per game, moves per
    episode, ply per game, steps to done, steps per mission, match len, trial steps, ep duration steps, ep time steps, life
    len, battle len, flight len steps | kl: kl div, kl divergence, kldivergence | kl old: kl difference, kl between old and
    new distribution, kl between old and new, kl new old, kl old new, kl est, kl step, kl upd, kl this update, kl estimate |
    logp: log prob, log probs, log pi | absdiff: abs diff | ev: explained variance, explained var, expl var, baseline
    explained, r2 value, value r2, v r2, critic r2, v expl, expl, ev v, value head r2, explained, xvar, ev pct | lr: learning
    rate, learningrate, learn rate, eta, lr anneal, step size | completionrate: completion rate | rm: reward model, bt,
    bradley terry | critic: value function, q sa, q s a, baseline value, qf val, qf1 val, qf2 val, q val, next online, q next
    online, q sel, q selected, q chosen, q taken, q online, exp q, q hat, q atoms, q behaviour, value head, baseline
    prediction, v s, vhat, q tot taken, qtot taken, qtot, q min12, qavg, qm | by: by step, vs step, vs number of steps, by
    episode | stepreward: step reward, step rewards, reward per step, per step reward, rewards per step, reward per timestep,
    rew per step, rew step | validcount: num valid, n valid, valid count, valid trajectories, valid samples, valid rollouts |
    mixed: nonzero variance, non zero variance, nonzero std, non zero std | flat: zero std, zero variance, zero var, zero
    reward std, zero signal, no signal, same reward, identical reward, equal reward, all equal, all same, all identical, equal
    std | solveall: all correct, all right, all solved, solved all, solve all | solvenone: all wrong, all incorrect, none
    correct, none solved, solved none, solve none | trunc: cap hit, hit cap, limit hit, hit limit, length limit, max length
    hit, max len hit, hit max length, hit max len, no eos, without eos, max tokens hit, hit max tokens | turnlimit: max turns,
    turn limit | refuse: always refuse, over refusal, false refuse, false refusal | heldout: held out | stale: off policy
    steps, off policyness, policy lag, sampler age, version lag, version gap, param lag, sample age, rev gap, weight lag |
    speed: per second, per sec, per s | gpu memory: vram, hbm | frame speed: fps, frames sec, frames s | token speed: tps, tok
    s, toks s, tokens s, tok rate, token rate, tokens processed per second, tokens sec, tk s | update speed: ups | step speed:
    sps, steps sec, steps s, kilo step speed, steps per sec, ticks s, ticks per s, env hz, steps hz | env step: timestep,
    timesteps, simulation steps, interaction steps, control steps, sim steps, steps so far, act steps, moves done | tderror:
    td error, td err, abs td, td abs, td l1, td mag, tde, td error abs, delta td, abs delta, bellman abs, tderr, tdabs, abs
    tderr, mean abs tderr, tderr l1, delta abs | critic loss: td loss, huber, huber loss, bellman loss, bellman error, dqn
    loss, quantile loss, baseline loss, c loss, vloss, qloss, closs, l v, lv, l vf, lvf, l q, lq, l critic, bellman err,
    bellman mse, td mse, quantile huber, xent, v cost, value cost, baseline cost, critic ls, lcritic, q12 huber, huber q12,
    critic nll, critic j | policy loss: ploss, a loss, reinforce loss, vpg loss, pgl, mu loss, l pi, lpi, l pg, lpg, l actor,
    l policy, awr loss, pi cost, pg cost, policy cost, actor ls, lactor, actor cost, actor j, policy j | sftloss: sft loss, lm
    loss, loss lm, bc loss, imitation loss, cloning loss | tdtarget: td target, td targets, target q, q target, bellman target
    | buffer size: memory size, memory length, memory len, buffer length, buffer len, buf fill, replay n, replay count,
    transitions stored, buf total, replay len, store size, rb, buffer fill, buf n, buf len, stored transitions, samples in
    buffer, mem transitions, buf transitions, memory filled, replay entries, replay num transitions, replay transitions, nbuf,
    buffer transitions, mem items, mem len | entropy coef: entcoef, entropy weight, entropy bonus, h coef, h weight, bonus
    coef, entropy bonus coef, ent weight, ent temp, c h, ent alpha, alpha ent | importance: is weight, is weights | group:
    within group, in group, within prompt, in prompt | mismatch: train infer, train inference, rollout train, train rollout |
    sync: weight sync, sync weights | share: hit rate | success share: win rate, winrate, sr, reached goal, goal reached,
    reached target, target reached, goal achieved, battle won, goal rate, objective reached, goal hit, goals hit, battles won,
    episodes won, exec ok, success flag, goals reached, share solved, solve rate, task solve rate, solved share | lossscale:
    loss scale, grad scale, grad scaler, amp scale, fp16 scale, scaler value, amp scaler, scaler scale, fp16 factor, scaler,
    loss scaler, scaler factor, scl | epsilon: eps greedy, epsilon greedy, random action rate, random action prob, rand action
    prob, rand action, explore eps, explore rate, exploration rate, exploration eps, eps actor, random action share, eps t,
    epsilon exploration, epsilon actual, eps actual | absdev importance: w dev, ratio dev, weight dev, is dev, ratio abs dev,
    ratio deviation, ratio absdev | correct: gt match, ground truth match, answer match | queue size: qsize | critic max:
    qmax, maxq | kl behave: kl mu pi, kl pi mu | iter time: iter seconds, sec per batch, sec per iter, sec per step, sec per
    update, secs per step, secs per iter, s it, s iter, sec iter, sec it, seconds for this step, sec per grad step, sec step,
    s per step, seconds per batch, s per iter, t it, seconds per step, seconds per iteration | kl ref: kl base, kl r, kl pi
    ref | entropy: h pi, h policy, h tok token, h token, token h, h mean, h nats, h bits, dist entropy, policy randomness, h
    actor, h tok, tok h, h t, hpi, h theta | alpha loss: temp loss, temperature loss, log alpha loss, alpha obj, temp obj,
    entropy temp loss, temp j, alpha j, temperature j | config entropy goal: target entropy, entropy target, h target, desired
    entropy, entropy goal, ent goal, goal entropy, entropy wanted, h star | noise action: exploration noise, explore noise, ou
    sigma, gaussian std, noisy sigma, ou scale, expl noise | version share stale: off policy share, stale share, old share,
    offpolicy frac, offpolicy share, off share, too old samples, off policy frac, old policy share | trunc share: cut off,
    cutoff, missing eos, hit budget, hit cap, cap rate, ctx cut, no stop, length cap hit, hit length cap, budget hit, cut
    share, noeos, overflow share, ctx overflow, hit limit, comp cut, tok capped, replies clipped, cut off answers, no eos
    share | loss total: l tot, ltot, obj sum, combined objective, obj total, loss all, all loss, cost total | logp absdiff:
    dlp, logp gap, lp gap, abs logp diff, abs logp, abs lp diff, logp diff abs, abs dlp, abs dlogp, dlogp abs, lp mae, logp
    mae, dlogp, lpdiff, lp diff, lpdiff abs | engine logp: log mu, logp mu | importance tis: tis w, tis, tis mean, tis weight,
    correction weight, is corr, corr weight, is w trunc, truncated correction weight | kl coef: kl w, kl scale, kl multiplier,
    b kl, beta kl, bkl, kl ctl, kl controller, kcoef, kl ctl value | flat group: all same groups, allsame groups, same reward
    groups, grp all same, no variance groups, group const, no signal grps, group zero adv, groups std0 | time train: t upd, t
    opt, trn t, t train, t update, t learn, sec train, sec learn | time rollout: t roll, t gen, t sample, sec generate, sec
    gen, t rollout, sec rollout | critic target: vtarg, v targ, next target, q next target, q next tgt, q lag, target net q, q
    frozen, v frozen, backup mean, bellman backup, bellman y, soft target, target y, q slow, slow q, slow value, tgtnet q, q
    tgtnet, frozen q, qtgt, q tgt, q target, bootstrap mean, q lagged, qn tgt, qn target, q boot, q bootstrap, bootstrap q |
    return target: lambda ret, lambda return, n step return, n step r, vtrace target, return to go, ret to go, empirical
    return, mc return, g avg, g mean | advantage: e a | advantage std: sd a, a std, std a, a sd, adv sigma, adv s, sigma a,
    adv spread, a sigma | advantage mean: a mean, a avg, adv m, a mu, a bar | reward margin: margin hat, score margin | pref
    acc: pref hit rate, pair acc, pairs acc, acc pairs, order acc, ranking acc, acc pair, pairwise acc, rank acc, fraction
    ranked correctly, pairs ranked right | pref loss: pref nll, l dpo, preference loss, pairwise loss | weight version:
    weights id, weight id | completion length: answer tokens, tokens per answer, tokens per reply, answer length, answer len,
    reply tokens, summary length, out len, comp tokens, comp toks, comp len, out tok, clen, seq len tok, tok per ans, tokens
    per ans | tool call: tools used, tool used | logp ref: lpref, lp0, prior ll | reward: reward after kl, score after kl
    penalty, reward after kl penalty, rm kl, rm net, net rew, rew after penalty, reward after penalty, outcome reward, net
    reward | reward std: rsd | weight norm: w l2, weights l2, weight l2, param l2, theta norm, w norm | return target std: g
    sd, g std | input token: tokens in
"""
_PHRASES = {" ".join(phrase.split()): atoms for atoms, phrases in entries(_PHRASES_OF) for phrase in phrases.split(",")}
#: a return over the last so many episodes: `ret20`, `return_mean_100`, `reward_ma100`
_WINDOW = pattern(
    r"\b(r|rets?|returns?|rews?|rewards?|scores?|lengths?|len|rate|winrate|mean|avg|ma|last|max|min|loss) ?\d{2,4}\b"
)
_PASS_AT = pattern(r"\bpass ?(at )?(\d+|k|n)\b")
_LONGEST = max(len(phrase.split()) for phrase in _PHRASES)

_EDGE = word_set("valid")  #: says so at an end of a name only: there are valid samples too
_HELD_OUT = word_set("eval evaluation val valid validation test heldout held holdout ho dev greedy probe backtest det")
_STATISTICS = {
    **{s: s for s in ("min", "max", "std", "var", "p10", "p25", "p50", "p75", "p90", "p95", "p99")},
    **spelled(
        mean="mean avg average ave mu",
        p50="median",
        std="stddev sd deviation",
        var="variance",
        max="highest largest biggest sup hi top ceiling",
        min="lowest smallest lo floor",
    ),
}
#: unit -> what it makes of the number, and the atom that it says
_UNITS = {
    **dict.fromkeys(("s", "sec", "secs", "seconds"), (1.0, "time")),
    "ms": (0.001, "time"),
    **dict.fromkeys(("h", "hours", "hrs"), (3600.0, "time")),
    **dict.fromkeys(("minutes", "mins"), (60.0, "time")),
    **dict.fromkeys(("gb", "gib"), (1.0, "memory")),
    **dict.fromkeys(("mb", "mib"), (0.001, "memory")),
}
_COUNTS = word_set("episodes iterations timesteps steps updates epochs")
#: words that say how or where a number was taken, and nothing of what it is
_SILENT = word_set(
    "of the in to from vs with per by at and for over train training batch minibatch running current recent ending ema cur"
    " curr raw scalar chart charts metric metrics stat stats info loop global agent main algo ppo grpo rloo hparam hparams"
    " last latest ma moving rolling during window sys perf usage used unclipped preclip final dqn ddqn sac td3 ddpg a2c k1"
    " k2 k3 now nats nat bits est estimate hat implicit implied this under schedule sched undisc undiscounted prenorm imp impl"
)

_WHOLE = _PHRASES.keys() | _STATISTICS.keys() | _SILENT | _HELD_OUT | _UNITS.keys()  #: words that are not taken apart

_SPREADS = frozenset({"reward.group_std", "action.std"})  #: quantities that are a standard deviation
# signal: the atoms that it needs ("a/b": either) + further atoms that it may have; another way to say it
# "%" stands for share/percent/ratio, "~" for completion/gen, "*std" for a standard deviation that is a part of what it is
_QUANTITIES = """
    reward.mean: reward/return/score + episode epoch iter total task shared team joint rollout completion; rm score/reward;
    reward kept + train filter | reward.rollout.mean: reward all + rollout | reward.group_std: group *std + reward score |
    reward.zero_std_frac: flat reward; flat % + group prompt reward sample completion rollout | reward.solve_all_frac:
    solveall %/group + prompt % group rollout | reward.solve_none_frac: solvenone %/group + prompt % group rollout |
    reward.mixed_frac: mixed %/group + group prompt % rollout | reward.effective_frac: effective/useful/informative % + group
    prompt sample rollout | reward.step.mean: stepreward + env | reward.component.intrinsic.mean: intrinsic reward/return +
    episode | reward.accuracy: correct; acc + answer task share passk correct; correct %/answer + answer task completion
    episode % | samples.valid: validcount + sample rollout | length.prompt.clipped_ratio: prompt trunc + % |
    policy_version.train: version policy/weight/trainer + net param opt learner | policy_version.mean: version
    rollout/gen/engine/worker/workers + policy weight net param | throughput.updates: update speed | throughput.samples:
    sample speed | samples.correct: correct count + answer | samples.incorrect: incorrect count + answer | progress.env_steps:
    frame count/done/env/total + total; env step/interact + total count; interact + total env count | reward.pass_at_k: passk
    + share | reward.component.format.mean: format reward/score + tag xml | reward.component.format.accuracy: format
    %/acc/correct + answer completion pass correct % | eval.reward: elo + rating score policy agent | success_rate: success
    %/episode/task + episode task goal %; success once/end + share | action.bound_loss: bounds loss + action | filter.dropped:
    skipped group/prompt + count; flat filter + count group prompt | sft.loss: sftloss | rm.loss: rm loss | rm.accuracy: rm
    acc | rm.margin: rm margin + reward | curiosity.loss: rnd loss | episode.length: episode length/step + env count |
    length.mean: ~ length/token + token sampled; new token | length.total.mean: sequence length | length.terminated_mean: ~
    length/token eos + token | length.clipped_ratio: ~ clip % + length; trunc % + ~ token sample rollout length; trunc + ~
    token sample rollout length | length.correct.mean: length correct + ~ token total | length.incorrect.mean: length
    incorrect + ~ token total | length.prompt.mean: prompt length/token + token | length.env.mean: env token + length |
    length.terminated_frac: eos % + ~ sample rollout; eos + ~ sample rollout | length.max_turns_frac: turnlimit % + episode
    rollout | turns.mean: turn + count episode rollout task env | text.repetition_frac: repeat % + ~ token ngram |
    text.refusal_frac: refuse % + ~ | text.violation_frac: violate % + ~ | tool.call_freq: tool call + count episode rollout
    sample task; call episode/rollout/sample + count | tool.success_freq: tool success/correct + call % | tool.failure_freq:
    tool fail % + call; call fail % | tool.error_count: tool fail + count call | tool.invalid_frac: tool invalid % + call
    parse; tool parse fail % + call | tool.runtime.mean: tool time/wait + call | samples.groups: count/size prompt/group;
    prompt sampled + count | samples.step: count/size sample/rollout/completion | kl.ref: kl ref + token policy loss model |
    kl.loss: kl loss weighted/scaled | kl.old: kl old/approx + token policy; prox kl + approx | kl.coef: kl coef + penalty
    loss | behave.kl: kl behave + approx | behave.ratio.mean: behave importance/ratio + weight | policy.ratio.mean: prox
    importance/ratio + weight; ratio + importance prob policy sequence; importance + weight vtrace | rollout_train.kl: kl
    engine/rollout/gen trainer; kl engine + mismatch gen rollout; kl mismatch; kl gen | rollout_train.ratio.mean: tis +
    importance weight engine; engine importance | rollout_train.logp_absdiff.mean: logp absdiff/mismatch/diff + engine rollout
    trainer token mismatch absdiff abs gen policy; logp diff rollout; engine diff/mismatch/absdiff + trainer abs rollout gen |
    policy.weight_norm: param/weight norm + policy | loss.total: loss + total | policy.loss: policy/pg/clip loss + clip pg
    policy grad inner | policy.loss.delta: delta policy loss | policy.objective: objective + policy pg; pg + policy token |
    policy.clip_fraction: clip % + policy pg ratio token importance; clip importance; clip policy | policy.clip_fraction.low:
    clip % low/lower + policy pg ratio token | policy.clip_fraction.high: clip % high/upper + policy pg ratio token |
    policy.clip_range: clip range/epsilon | policy.ratio_out: ratio/policy outside/out + bounds range clip %; % outside |
    policy.ratio.absdev: absdev importance | policy.logp.mean: logp + policy token trainer action sequence student new
    recomputed cur theta | policy.logp.teacher: logp teacher + token | distill.reverse_kl: kl reverse + token teacher student
    | policy.logp.ref: logp ref + policy token trainer | policy.logp.old: logp old + policy token trainer |
    policy.logp.rollout: logp engine/rollout/gen + policy token sample | policy.stop_iter: stop iter/epoch + early |
    grad.norm: grad norm + policy total all unscaled mixer l2; grad | alpha.loss: alpha loss + log entropy | alpha: alpha
    value | config.target_entropy: config goal entropy | lr: lr + policy live adaptive after t | optim.loss_scale: lossscale +
    grad policy optim trainer fp16 amp | advantage.mean: advantage + gae critic policy relative group token |
    advantage.zero_frac: advantage zero % + token sample | advantage.abs.mean: advantage abs/absmean | value.loss: critic loss
    + mse td total head joint mixer twin double ensemble expectile clip quantile; critic mse/fail + head joint squared |
    value.loss.delta: delta critic loss | value.mean: critic + policy pred total episode new head ensemble all |
    value.old.mean: critic old + pred | value.target.mean: critic target + net; tdtarget + critic | returns.mean: return
    target | value.explained_variance: ev + critic | value.clip_fraction: clip critic % | value.grad_norm: grad norm critic |
    value.lr: lr critic | td_error: tderror + abs critic | replay.size: buffer size/capacity + item transition |
    replay.priority: priority + buffer | policy.entropy: entropy + policy token action rollout | entropy.coef: entropy coef +
    loss effective | action.std: action/noise/policy *std + policy; noise action; noise | pref.loss: pref loss |
    pref.reward.chosen: chosen reward + epoch | pref.reward.rejected: rejected reward + epoch | pref.reward.margin: margin +
    reward pref epoch | pref.reward.accuracy: pref acc + reward | pref.logp.chosen: chosen logp + policy | pref.logp.rejected:
    rejected logp + policy | pref.nll: chosen nll | staleness.mean: stale + policy sample step data version |
    staleness.stale_frac: stale % + sample rollout data version | time.rollout: time rollout/gen/sample/engine + step phase |
    time.train: time update/learn/optim/backward/trainer + step policy phase | time.step: time step/iter + total |
    time.update_weights: time sync + weight policy engine | time.reward: time reward/verify/score + step phase |
    time.iteration: time episode | epsilon: epsilon | time.wait_batch: time wait + queue data rollout | time.elapsed: time
    wall/elapsed/passed + total | throughput.iter_s: iter speed | throughput.tok_s: token speed + total throughput |
    throughput.tok_s_gpu: token speed gpu | throughput.gen_tok_s: token speed gen/rollout/completion/decode + throughput |
    throughput.sps: step speed + env total | throughput.fps: frame speed + env total approx | gpu.util: gpu util + estimated %
    | memory.gpu: gpu memory + peak max allocated alloc | memory.gpu_reserved: gpu memory reserved + peak max |
    memory.alloc_retries: alloc/allocation retry + count gpu memory total | memory.cpu: memory + system cpu ram process host
    driver worker peak policy | perf.mfu: mfu | progress.episodes: episode total/count/done/eos + done eos rollout total |
    progress.updates: update total/count + optim policy grad; optim/grad/update step/update + total count; update index/idx/id
    + policy | tokens.total: token total + rollout
"""


@dataclass(frozen=True)
class _Quantity:
    signal: str
    needs: tuple[frozenset[str], ...]
    words: frozenset[str]  #: all that a name of it may hold
    spread: bool  #: the standard deviation is part of what it is

    def fits(self, atoms: Set[str]) -> bool:
        return atoms <= self.words and all(not need.isdisjoint(atoms) for need in self.needs)


def _quantities() -> Iterator[_Quantity]:
    text = _QUANTITIES.replace("%", "share/percent/ratio").replace("~", "completion/gen")
    for signal, ways in entries(text):
        for way in ways.split(";"):
            needs, _, may = way.partition("+")
            alternatives = tuple(frozenset(need.split("/")) for need in needs.split() if not need.startswith("*"))
            words = frozenset().union(*alternatives) | frozenset(re.split(r"[ /]", may))
            yield _Quantity(signal, alternatives, words, "*std" in needs.split())


_RULES = tuple(_quantities())


@dataclass(frozen=True)
class _Reading:
    """The words of a name, sorted by what they do."""

    atoms: frozenset[str]
    held_out: bool
    statistic: str
    scale: float


def knows(word: str) -> bool:
    """Whether a word has a meaning of its own."""
    return word.lower() in _ATOMS or word.lower() in _STATISTICS


def read(words: list[str], company: Company) -> Name | None:
    """What the words of a name say together, beside this company; None where they do not say it."""
    reading = _sorted(words)
    if reading is None:
        return None
    if reading.held_out and reading.atoms == {"time"}:
        return Name("time.eval", reading.scale, NOTE, Origin.WORDS)
    signal = _by_company(reading, company) or _by_rule(reading) or _part(words, company) or _phase(words, reading)
    found = lookup(_with_statistic(signal, reading.statistic)) if signal else None
    if found is None or (reading.held_out and (found.link is Link.SYSTEMS or found.name.startswith("policy.ratio"))):
        return None
    note = f"{NOTE}: percent, shown as a share" if "percent" in reading.atoms else NOTE
    return Name(evaluation(found.name) if reading.held_out else found.name, reading.scale, note, Origin.WORDS)


def _with_statistic(signal: str, statistic: str) -> str:
    if statistic in ("", "mean") or (statistic == "std" and signal in _SPREADS):
        return signal
    joint = "_" if signal.endswith("_mean") else "."  # `length.terminated_mean` has a `length.terminated_max`
    return f"{signal.removesuffix(f'{joint}mean')}{joint}{statistic}"


def _sorted(words: list[str]) -> _Reading | None:
    """None where the words contradict each other: two statistics."""
    words = _unplaced(words)
    scale, unit = 1.0, []
    if "min" in words and not _CLOCKS.isdisjoint(words):
        words = [*(word for word in words if word != "min"), "minutes"]  # `elapsed_min`
    if "peak" in words and not _MEMORY & {*words}:
        words = ["max" if word == "peak" else word for word in words]
    last = len(words) - 1 - (not _STATISTICS.keys().isdisjoint(words[-1:]))  # `wait_s_p95`
    if last > 0 and words[last] in _UNITS and words[last - 1] != "per":
        scale, atom = _UNITS[words[last]]
        words, unit = words[:last] + words[last + 1 :], [atom]
    atoms = [*_atoms(words), *unit]
    statistics = {_STATISTICS[atom] for atom in atoms if atom in _STATISTICS}
    if statistics == {"mean", "std"}:
        statistics = {"std"}  # `mean_group_std`
    if len(statistics) > 1:
        return None
    content = {atom for atom in atoms if atom not in _HELD_OUT | _STATISTICS.keys() | _SILENT}
    if "train" in words and content == {"time"}:
        content.add("update")  # of `train_time`, where the phase is all that is said
    return _Reading(
        atoms=frozenset(content),
        held_out=any(atom in _HELD_OUT - _EDGE for atom in atoms) or not _EDGE.isdisjoint((*atoms[:1], *atoms[-1:])),
        statistic=next(iter(statistics), ""),
        scale=scale * (0.01 if "percent" in content else 1.0),
    )


_PARTS = word_set(
    "advantage advantages logp logprob logprobs recompute stage env reset ref reference forward backward load save"
    " teacher checkpoint data preprocess gather broadcast decode prefill score dispatch pack batching collate render transfer"
)
_CLOCKS, _MEMORY = word_set("elapsed wall wallclock runtime"), word_set("mem memory gpu vram rss ram gb gib mb")
_PHASES = word_set("gen generate generation rollout sample train step reward sync wait")


def _unplaced(words: list[str]) -> list[str]:
    """Without the name of a panel: `time/episodes` is no time, and `losses/q_values` no loss."""
    if len(words) > 1 and words[0] == "time" and words[-1] in _COUNTS:
        return words[1:]
    if words[:1] == ["time"] and not {"sps", "fps"}.isdisjoint(words):
        return words[1:]
    if len(words) > 1 and "t" in (words[0], words[-1]) and not _PHASES.isdisjoint(words):
        words = ["time" if word == "t" else word for word in words]  # `t_gen`
    return words[1:] if len(words) > 2 and words[0] == "losses" and "loss" not in words else words


#: what words that are written as one are put together from; shorter ones are found in any word
_PIECES = (_ATOMS.keys() | _STATISTICS.keys() | {"lr"}) - word_set("it is iw lp em ok ok s v q p r w n it act in num")
_MOST_GLUED = 30  #: letters


@lru_cache(maxsize=4096)
def apart(word: str) -> tuple[str, ...]:
    """`vpredmean` or `epRew` in lower case: two or three words that are known, written as one."""
    if word in _ATOMS or word in _WHOLE or len(word) > _MOST_GLUED or not word.isalpha():
        return (word,)
    for size in range(len(word) - 2, 1, -1):
        if word[:size] in _PIECES:
            rest = (word[size:],) if word[size:] in _PIECES else apart(word[size:])
            if _PIECES.issuperset(rest) and len(rest) < 3:
                return (word[:size], *rest)
    return (word,)


def _atoms(words: list[str]) -> Iterator[str]:
    """Words as atoms, the longest phrases first. The numbers of `pass@8` and of `ret20` are no part of the meaning."""
    words = _WINDOW.sub(r"\1", _PASS_AT.sub("passk", " ".join(words))).split()
    start = 0
    while start < len(words):
        for size in range(min(_LONGEST, len(words) - start), 0, -1):
            if phrase := _PHRASES.get(" ".join(words[start : start + size])):
                yield from phrase.split()
                start += size
                break
        else:
            yield _ATOMS.get(words[start], words[start])
            start += 1


def _by_rule(reading: _Reading) -> str | None:
    """The quantity whose words these are: of several, the one that needs most of them."""
    fitting = [rule for rule in _RULES if rule.fits(reading.atoms) and (reading.statistic == "std" or not rule.spread)]
    return max(fitting, key=lambda rule: (rule.spread, len(rule.needs))).signal if fitting else None


def _phase(words: list[str], reading: _Reading) -> str | None:
    """`advantage_time`: that of a part of the step, where a loop has such a part."""
    phase = [word for word in words if _ATOMS.get(word, word) in reading.atoms - {"time"} and word not in _UNITS]
    return f"time.{'_'.join(phase)}" if "time" in reading.atoms and phase and _PARTS.issuperset(phase) else None


def _by_company(reading: _Reading, company: Company) -> str | None:
    """Words with two meanings, told apart by the names beside them."""
    atoms = reading.atoms
    if atoms == {"step"} and reading.statistic and company.wordless:  # a mean of steps is one of episodes
        return "episode.length" if reading.held_out or (company.wordless and reading.statistic == "mean") else None
    if "kl" in atoms and atoms <= {"kl", "token", "policy", "sample", "completion"}:
        if "policy" in atoms or (company.reference and company.critic):
            return "kl.old"
        if company.language or company.preference or (company.penalty and not company.control):
            return "kl.ref"
        return "kl.old" if company.control or company.critic else None
    if atoms == {"token"} and company.language:
        return "length.mean"
    if atoms in ({"length"}, {"length", "rollout"}):
        return "length.mean" if company.language else "episode.length" if company.control else None
    if atoms == {"success"} and reading.held_out:
        return "success_rate"
    if "best" in atoms and reading.held_out and atoms - {"best", "episode"} in ({"reward"}, {"return"}, {"score"}):
        return "eval.reward.best"
    if atoms == {"buffer"} and company.wordless:
        return "replay.size"
    if "diff" in atoms and company.preference and atoms <= {"diff", "reward", "score", "rm"}:
        return "pref.reward.margin"
    if atoms == {"reward", "acc"} and company.preference:
        return "pref.reward.accuracy"
    if atoms <= {"loss", "epoch"} and "loss" in atoms:
        return "pref.loss" if company.preference else "value.loss" if company.values else None
    if company.preference and (told := _of_pair(atoms)):
        return told
    if company.text and not reading.statistic and (own := _OF_TEXT.get(" ".join(sorted(atoms)))):
        return own
    if not company.language and atoms == {"time", "wait"}:
        return "custom.wait"  # of vehicles
    if company.judge and atoms == {"reward", "loss"}:
        return "rm.loss"
    if atoms == {"weight"} and reading.statistic:
        return "replay.is_weight.mean" if company.values else "samples.weight.mean" if company.text else None
    if "step" in atoms and atoms <= {"step", "total"} and not reading.statistic and not reading.held_out:
        return "progress.step"
    if company.values and atoms == {"target"}:
        return "value.target.mean"
    if atoms == {"token", "speed"} and company.wordless:
        return "throughput.sps"  # `tps`: of steps
    if (
        (company.values or (company.game and not company.critic))
        and "importance" in atoms
        and atoms <= {"importance", "weight"}
    ):
        return "replay.is_weight.mean"
    return None


#: of the two answers of a pair: the one that is liked, and the other
_LIKED = word_set("chosen preferred pos positive good w win success desirable plus above")
_OTHER = word_set("rejected dispreferred neg negative bad l lose undesirable minus")


def _of_pair(atoms: frozenset[str]) -> str | None:
    """`reward_good`, `lp_w`, `score_neg` beside others of pairs: of the chosen answer, or of the rejected one."""
    what = atoms - _LIKED - _OTHER - {"pref", "policy", "sum"}
    own = (
        "pref.reward"
        if what in ({"reward"}, {"score"}, {"rm"}, {"return"})
        else "pref.logp"
        if what == {"logp"}
        else ""
    )
    side = "chosen" if atoms & _LIKED else "rejected" if atoms & _OTHER else ""
    return f"{own}.{side}" if own and side and not (atoms & _LIKED and atoms & _OTHER) else None


#: words with another meaning where texts are written and no environment is played in
_OF_TEXT = {"coef": "kl.coef", "memory": "memory.gpu", "memory peak": "memory.gpu"} | {
    **{"time": "time.step", "sample": "samples.step", "group": "samples.groups", "clip": "policy.clip_fraction"},
    "queue size": "staleness.buffer_size",
}


# Rewards that are no part of the whole: a limit, a rank, another scale.
NO_PART = word_set(
    "best last final target threshold baseline expected discounted normalized normalised norm shaped proxy gold true mean"
    " max min std scale scaled bound ema smoothed old new next next cum intrinsic extrinsic model chosen rejected optimal"
    " oracle random predicted pred estimated human test eval val train raw total episode step average avg running per group"
    " no zero high low rollout rollouts loss kl value values reward rewards positive negative time timing winning sum"
    " clipped greedy initial global batch non sparse dense delta log transitions buf buffer replay env stored"
)


_AGENT = pattern(r"(?:agent|player|team|robot)\d+$")


def _part(words: list[str], company: Company) -> str | None:
    """`format_reward` or `rew_torques` beside the whole reward: one part of it, whatever it is called."""
    if not company.reward or len(words) < 2:
        return None
    if words[:2] in (["reward", "component"], ["reward", "components"]) and len(words) > 2:
        words = [*words[2:], "reward"]  # says so itself
    statistics = {word for word in words if word in _STATISTICS} - {"mean"}
    words = [word for word in words if word not in _STATISTICS]
    if words[-1:] in (["func"], ["fn"], ["function"]):  # `accuracy_reward_func`, as TRL's users call them
        named = words[words[0] in ("reward", "rewards") and len(words) > 3 :]
        return None if statistics - {"std"} or len(words) < 3 else f"reward.component.{'_'.join(named)}.mean"
    if statistics or len(words) < 2:
        return None
    part = words[:-1] if words[-1] in ("reward", "rewards", "rew") else words[1:] if words[0] in ("rew", "r") else []
    part = words if words[-1] == "penalty" else part
    if not part or not NO_PART.isdisjoint(part) or not all(word[0].isalpha() for word in part) or _AGENT.match(part[0]):
        return None
    return f"reward.component.{'_'.join(part)}.mean"


_LANGUAGE = word_set("completion token prompt turn tool group refuse gen eos flat solveall cut trunc format")
_CONTROL = word_set("episode env return interact frame epsilon rnd")


def _only(atoms: frozenset[str]) -> frozenset[str]:
    return atoms - _STATISTICS.keys() - _SILENT


def company(names: Iterable[list[str]]) -> Company:
    """What all the names of a run say of it; each name as its words."""
    spoken = list(names)
    found = [frozenset(_atoms(words)) for words in spoken]
    every = frozenset().union(*(atoms for words, atoms in zip(spoken, found, strict=True) if words[-1:] != ["tps"]))
    control = not (_CONTROL - {"epsilon"} if "completion" in every else _CONTROL).isdisjoint(every)
    language = _LANGUAGE - {"eos", "trunc"} if control else _LANGUAGE  # episodes are terminated as well
    answers = any(atoms - _HELD_OUT - _SILENT == {"acc"} for atoms in found)
    critic = any({"critic", "loss"} <= atoms or "ev" in atoms for atoms in found)
    referred = not control and any({"kl", "ref"} <= atoms for atoms in found)
    writes = not language.isdisjoint(every) or referred or (answers and not (control and critic))
    margins = any({"reward", "margin"} <= atoms for atoms in found)
    pairs = margins or not every.isdisjoint({"chosen", "rejected", "pref", "dispreferred", "undesirable"})
    sides = ({"good", "bad"}, {"pos", "neg"}, {"w", "l"}, {"win", "lose"}, {"plus", "minus"})
    pairs = pairs or (any(map(every.issuperset, sides)) and not control and "logp" in every)
    return Company(
        language=writes,
        text=writes and not control,
        game=control and not writes,
        wordless=not writes,
        control=control,
        critic=critic,
        preference=pairs,
        unpaired=not pairs,
        values=not writes
        and not every.isdisjoint({"buffer", "tderror", "epsilon", "priority", "tdtarget", "dqn", "critic"})
        and every.isdisjoint({"policy", "pg", "advantage", "coef", "completion", "token", "clip", "kl"}),
        reference=any({"kl", "ref"} <= atoms for atoms in found),
        reward=any(_only(atoms) <= {"reward", "total", "rollout"} and "reward" in atoms for atoms in found)
        or sum(words[-1:] == ["reward"] and not NO_PART.issuperset(words[-2:]) for words in spoken) > 1,
        penalty=any({"kl", "coef"} <= atoms for atoms in found),
        fitted=critic and any(_only(atoms) == {"advantage"} or {"critic", "mean"} <= atoms for atoms in found),
        judge={"loss", "acc"} <= {next(iter(atoms - _SILENT - {"reward"}), "") for atoms in found if "reward" in atoms},
    )
