// The curves of one run: drawn when they come into view, zoomed together, exact where the points fit on the screen.
// uPlot is a global of a script that is asked for with the first curve.

import { asked, remember } from "./address.js"

const AT_ONCE = 24 // curves in one request
const HEIGHT = 150
const FEW = 6 // runs that the pointer reads all at once; of more it reads the nearest
const COLORS = ["--trace", "--amber", "--green", "--red", "--gray", "--ink"] // one for each side; page.css has the same order
const DASHES = [[], [2, 3], [10, 3, 2, 3], [6, 3]] // and where the colours are used up; after LOOKS sides, all again
const FEW_POINTS = 40 // of each curve: so few are steps, as in the report, because slopes between them would look like data
const LOOKS = 20
const BANDS = 4 // sides whose bands can be told apart
const charts = new Map() // figure -> uPlot, or null while its points are on the way
const isWhole = (figure) => whole(figure).every(Number.isInteger)
const views = new Map(askedViews()) // axis -> [from, to]; absent: the whole run
const stale = new Set()
let waiting = []
let batched = false

// What an address holds may be anything.
function askedViews() {
  try {
    return JSON.parse(asked("zoom")).filter(isView)
  } catch {
    return []
  }
}

function isView(entry) {
  return Array.isArray(entry) && Array.isArray(entry[1]) && entry[1].length === 2 && entry[1].every(Number.isFinite) && entry[1][0] < entry[1][1]
}

const over = () => { // tokens, time, a metric as JSON; "": the steps of each curve
  const option = document.querySelector(`#x option[value="${CSS.escape(asked("x"))}"]`)
  return option && !option.disabled ? option.value : ""
}
const spans = new Map() // axis that the runs were not logged on -> [from, to]
const axisOf = (figure) => over() || figure.dataset.axis
const isScatter = () => over().startsWith('"') // a metric is no clock: points without lines
const unitOf = (figure) => (over() ? document.querySelector("#x").selectedOptions[0].textContent : figure.dataset.unit)
const groupOf = () => JSON.parse(box().dataset.groups ?? "null") ?? JSON.parse(box().dataset.runs).map((_, i) => i)
const box = () => document.querySelector("#plots")
const smoothing = () => Math.min(0.99, Math.max(0, Number(asked("smooth")) || 0)) // weight of what was before
const hidden = () => new Set(asked("hide").split(",").filter(Boolean))

export const metric = (figure) => JSON.parse(figure.dataset.metric)
export const figures = (root = document) => [...root.querySelectorAll(".plot")]
const number = (text) => (text === undefined ? null : Number(text))
const colors = new Map()
const compact = new Intl.NumberFormat("en", { notation: "compact", maximumSignificantDigits: 6 })

function short(value) {
  const size = Math.abs(value)
  if (size >= 1e15 || (size && size < 1e-3)) return value.toExponential(1)
  return size >= 1e4 ? compact.format(value) : String(+value.toPrecision(4))
}

// A canvas knows no variables and no light-dark(): the browser resolves them on an element, once for each theme.
function color(name, share = 100) {
  const key = `${name} ${share}`
  if (!colors.has(key)) {
    const probe = document.querySelector("main").appendChild(document.createElement("span"))
    probe.style.color = share === 100 ? `var(${name})` : `color-mix(in srgb, var(${name}) ${share}%, transparent)`
    colors.set(key, getComputedStyle(probe).color)
    probe.remove()
  }
  return colors.get(key)
}

const whole = (figure) => (over() ? spans.get(over()) ?? [0, 1] : [Number(figure.dataset.from), Number(figure.dataset.to)])

const sight = new IntersectionObserver((entries) => {
  for (const { target, isIntersecting } of entries) {
    target.dataset.seen = isIntersecting ? "1" : ""
    if (isIntersecting && (!charts.has(target) || stale.has(target))) want(target)
  }
}, { rootMargin: "200px" })

export function attach() {
  tellControls()
  for (const figure of figures()) sight.observe(figure)
}

// Forget charts whose figures are gone, ask again for the rest.
export function clear() {
  for (const [figure, chart] of charts) {
    if (figure.isConnected) continue
    chart?.destroy()
    charts.delete(figure)
  }
  refresh()
}

export function refresh(axis) {
  for (const figure of figures()) {
    if (axis !== undefined && axisOf(figure) !== axis) continue
    stale.add(figure)
    if (figure.dataset.seen) want(figure)
  }
}

export function repaint() {
  colors.clear()
  for (const chart of charts.values()) chart?.redraw(false, true)
}

function want(figure) {
  if (!waiting.includes(figure)) waiting.push(figure)
  if (batched) return
  batched = true
  requestAnimationFrame(fetchWanted)
}

async function fetchWanted() {
  batched = false
  const wanted = waiting
  waiting = []
  const batches = Map.groupBy(wanted, axisOf)
  for (const [axis, group] of batches) {
    for (let i = 0; i < group.length; i += AT_ONCE) await fetchSome(axis, group.slice(i, i + AT_ONCE))
  }
}

const libraries = new Map()

// A script that is asked for when it is needed; it gives a global.
export function library(name) {
  if (!libraries.has(name)) {
    libraries.set(name, new Promise((load) => {
      const script = document.createElement("script")
      script.src = `/static/${name}.js`
      script.onload = load
      document.head.append(script)
    }))
  }
  return libraries.get(name)
}

async function fetchSome(axis, group) {
  const query = new URLSearchParams(group.map((figure) => ["metric", metric(figure)]))
  for (const run of JSON.parse(document.querySelector("#plots").dataset.runs)) query.append("run", run)
  const width = Math.max(...group.map((figure) => figure.clientWidth))
  const x = over()
  if (x) query.set("x", x)
  query.set("points", Math.min(4000, Math.max(200, Math.round(width * devicePixelRatio))))
  const view = views.get(axis)
  if (view) {
    query.set("from", view[0])
    query.set("to", view[1])
  }
  for (const figure of group) {
    stale.delete(figure)
    if (!charts.has(figure)) charts.set(figure, null)
  }
  const [answer] = await Promise.all([fetch(`/curves?${query}`), library("uPlot")])
  if (!answer.ok) return
  const curves = await answer.json()
  if (views.get(axis) !== view || over() !== x) return group.forEach(want) // zoomed again in the meantime
  if (x && !view) widen(x, group.flatMap((figure) => curves[metric(figure)]))
  for (const figure of group) {
    // Two kinds of steps have two figures.
    const own = curves[metric(figure)].map((curve) => (curve?.kind === figure.dataset.axis ? curve : null))
    if (figure.isConnected) draw(figure, own, view)
  }
}

// The whole of an axis that is known only when the curves are there.
function widen(x, curves) {
  const steps = curves.flatMap((curve) => (curve?.steps.length ? [curve.steps[0], curve.steps.at(-1)] : []))
  const [from, to] = spans.get(x) ?? [Infinity, -Infinity]
  if (steps.length) spans.set(x, [Math.min(from, ...steps), Math.max(to, ...steps)])
}

// What is drawn: each run, or each side of several runs as its mean, of few sides within the band of its runs; see `options`.
function layout(weight, curves) {
  const groups = groupOf()
  const sides = [...new Set(groups)]
  const runs = groups.map((group, run) => ({ group, run }))
  if (isScatter()) return runs.map((place) => ({ ...place, kind: "points" }))
  if (sides.length === groups.length) return runs.flatMap((place) => (weight ? [{ ...place, kind: "raw" }, { ...place, kind: "line" }] : [{ ...place, kind: "line" }]))
  const drawn = new Set(groups.filter((_, run) => curves[run]))
  const kinds = drawn.size > BANDS ? ["line"] : ["low", "high", "line"]
  const bands = sides.flatMap((group) => kinds.map((kind) => ({ group, kind, runs: groups.flatMap((g, i) => (g === group ? [i] : [])) })))
  return asked("single") ? [...bands, ...runs.map((place) => ({ ...place, kind: "single" }))] : bands
}

// Runs that log at different steps share an axis of all their steps, and lines reach across.
function draw(figure, curves, view) {
  figure.classList.toggle("thinned", curves.some((curve) => curve && !curve.exact))
  const tables = curves.map((curve) => [curve?.steps ?? [], curve?.values ?? []])
  const [steps, ...raw] = tables.length === 1 ? tables[0] : isScatter() ? together(tables) : uPlot.join(tables)
  const weight = isScatter() ? 0 : smoothing()
  const plan = layout(weight, curves)
  const smooth = weight ? raw.map((values) => smoothed(values, weight)) : raw
  const means = plan.some(({ runs }) => runs) ? smooth.map((values) => reached(steps, values)) : []
  const data = [steps, ...plan.map(({ kind, run, runs }) => (runs ? joined(kind, runs.map((i) => means[i])) : kind === "raw" ? raw[run] : smooth[run]))]
  const log = "log" in figure.dataset || (asked("log") && data.slice(1).every((values) => values.every((value) => value === null || value === undefined || value > 0)))
  figure.classList.toggle("linear", asked("log") === "1" && !log)
  const many = new Set(plan.filter((_, i) => data[i + 1].some(Number.isFinite)).map(({ group }) => group)).size > FEW
  figure.toggleAttribute("data-many", many)
  if (!view) figure.toggleAttribute("data-few", !isScatter() && curves.every((curve) => !curve || curve.steps.length <= FEW_POINTS))
  const kind = `${"few" in figure.dataset} ${Boolean(weight)} ${Boolean(log)} ${over()} ${many} ${plan.length}`
  if (charts.get(figure) && figure.dataset.kind !== kind) {
    charts.get(figure).destroy()
    charts.delete(figure)
  }
  figure.dataset.kind = kind
  const chart = charts.get(figure) ?? new uPlot(options(figure, plan, log), data, figure.querySelector(".canvas"))
  charts.set(figure, chart)
  chart.batch(() => {
    chart.setData(data, false)
    const [from, to] = view ?? whole(figure)
    chart.setScale("x", { min: from, max: to > from ? to : from + 1 })
  })
  showRuns(chart)
  fit(figure, chart)
  figure.dataset.drawn = view ? span(view) : ""
}

// The points of all runs in order. Unlike `join`, it keeps points of one run that have the same x.
function together(tables) {
  const points = tables.flatMap(([xs, ys], run) => xs.map((x, i) => [x, ys[i], run])).sort((a, b) => a[0] - b[0])
  return [points.map(([x]) => x), ...tables.map((_, run) => points.map(([, y, of]) => (of === run ? y : undefined)))]
}

// A run's values at the steps of the others, between its own. A gap stays a gap.
function reached(steps, values) {
  const full = [...values]
  let last = -1
  for (let i = 0; i < full.length; i++) {
    if (values[i] === undefined) continue
    for (let j = last + 1; last >= 0 && values[last] !== null && values[i] !== null && j < i; j++) {
      full[j] = values[last] + ((values[i] - values[last]) * (steps[j] - steps[last])) / (steps[i] - steps[last])
    }
    last = i
  }
  return full
}

// Mean, lowest or highest of the runs of a side at each step, of those that reach it.
function joined(kind, runs) {
  return (runs[0] ?? []).map((_, i) => {
    const values = runs.map((run) => run[i]).filter((value) => value !== null && value !== undefined)
    if (!values.length) return runs.some((run) => run[i] === null) ? null : undefined
    if (kind === "line") return values.reduce((sum, value) => sum + value, 0) / values.length
    return kind === "low" ? Math.min(...values) : Math.max(...values)
  })
}

// An exponential mean without the pull of its start. A gap stays a gap.
function smoothed(values, weight) {
  let [mean, mass] = [0, 0]
  return values.map((value) => {
    if (value === null || value === undefined) return value
    mass = weight * mass + (1 - weight)
    mean += ((1 - weight) / mass) * (value - mean) // in this form, a constant stays itself
    return mean
  })
}

// Smoothing, axis and what the curves are drawn over.
export function redraw(name, value) {
  remember(name, value)
  if (name === "x") {
    views.clear()
    remember("zoom", "")
    tellControls()
  }
  refresh()
}

// Which runs a comparison shows.
export function hide(run) {
  const runs = hidden()
  if (!runs.delete(run)) runs.add(run)
  remember("hide", [...runs].join())
  tellControls()
  for (const chart of charts.values()) if (chart) showRuns(chart)
}

function showRuns(chart) {
  const without = hidden()
  chart.batch(() => chart.plan.forEach(({ group }, i) => chart.setSeries(i + 1, { show: !without.has(String(group)) })))
}

function tellControls() {
  const [smooth, log] = ["#smooth", "#log"].map((name) => document.querySelector(name))
  if (smooth) smooth.value = [...smooth.options].some((option) => option.value === asked("smooth")) ? asked("smooth") : ""
  if (log) log.checked = asked("log") === "1"
  const [x, single] = ["#x", "#single"].map((name) => document.querySelector(name))
  if (x) x.value = over()
  if (single) single.checked = asked("single") === "1"
  for (const button of document.querySelectorAll("[data-run]")) button.setAttribute("aria-pressed", String(!hidden().has(button.dataset.run)))
  const output = document.querySelector("#range") // for those who hear the page
  if (!output) return
  output.textContent = [...views.values()].map(span).join("; ")
  const [from, to] = ends()
  const view = views.get(mainAxis()) ?? whole(mainFigure())
  if (document.activeElement !== from) from.value = exact(view[0])
  if (document.activeElement !== to) to.value = exact(view[1])
}

const exact = (step) => String(+step.toPrecision(9))
const span = (view) => view.map(exact).join(" to ")
const ends = () => ["#from", "#to"].map((name) => document.querySelector(name))

// The axis of the first break, else of the first curve: its steps stand in the fields.
const mainFigure = () => figures().find((figure) => figure.dataset.axis === box().dataset.axis) ?? figures()[0]
const mainAxis = () => axisOf(mainFigure())

// The steps that were written into the fields.
export function zoomTo() {
  const view = ends().map((field) => (field.value === "" ? NaN : Number(field.value)))
  if (view.every(Number.isFinite) && view[0] < view[1]) look(mainAxis(), view)
}

// A curve across the whole width, and back.
export function enlarge(figure, large = !figure.classList.contains("large")) {
  figure.classList.toggle("large", large)
  const button = figure.querySelector(".enlarge")
  button.setAttribute("aria-pressed", String(large))
  button.textContent = large ? "Smaller" : "Enlarge"
  if (charts.get(figure)) fit(figure, charts.get(figure))
  stale.add(figure) // a wider curve shows more of its points
  want(figure)
}

// The curve of this name, large and at the onset.
export function openCurve(name) {
  const figure = figures().find((figure) => metric(figure) === name)
  if (!figure) return
  if (box().dataset.onset !== undefined) zoom("onset")
  enlarge(figure, true)
  figure.scrollIntoView({ block: "center" })
}

function fit(figure, chart) {
  const width = figure.querySelector(".canvas").clientWidth
  if (width && width !== chart.width) chart.setSize({ width, height: figure.querySelector(".canvas").clientHeight || HEIGHT })
}

addEventListener("resize", () => charts.forEach((chart, figure) => chart && fit(figure, chart)))

function options(figure, plan, log) {
  const axis = axisOf(figure)
  const output = figure.querySelector("output")
  const axes = { stroke: () => color("--muted"), font: "11px system-ui, sans-serif", ticks: { show: false } }
  return {
    width: figure.querySelector(".canvas").clientWidth,
    height: figure.querySelector(".canvas").clientHeight || HEIGHT,
    padding: [8, 20, 0, 0], // half of the last number on the axis
    legend: { show: false },
    cursor: { sync: { key: axis }, drag: { x: true, y: false, setScale: false }, points: { size: 6 }, focus: { prox: "many" in figure.dataset ? 40 : -1 } },
    focus: { alpha: 0.15 },
    scales: { x: { time: false }, y: { distr: log ? 3 : 1, range: log ? undefined : reach } },
    axes: [
      { ...axes, size: 24, gap: 2, grid: { show: false }, values: (_, ticks) => ticks.map(short) },
      { ...axes, size: 52, gap: 4, grid: { stroke: () => color("--line"), width: 1 }, values: (_, ticks) => ticks.map((t) => (t === null ? "" : short(t))) },
    ],
    series: [{}, ...plan.map((one) => line(one, "few" in figure.dataset))],
    bands: plan.flatMap(({ kind, group }, i) => (kind === "low" ? [{ series: [i + 2, i + 1], fill: () => color(COLORS[(group % LOOKS) % COLORS.length], 22) }] : [])),
    hooks: {
      init: [(chart) => (chart.plan = plan)],
      ready: [(chart) => chart.over.addEventListener("dblclick", () => zoom("all"))],
      drawClear: [(chart) => drawBand(chart, figure)],
      draw: [(chart) => drawMarks(chart, figure)],
      setSelect: [(chart) => select(chart, axis)],
      setSeries: [(chart, i, how) => { if (how?.focus !== undefined) chart.nearest = i }],
      setCursor: [(chart) => (output.textContent = reading(chart, figure))],
    },
  }
}

function line({ kind, group: side }, few) {
  const group = side % LOOKS
  const name = COLORS[group % COLORS.length]
  const edge = kind === "low" || kind === "high"
  return {
    stroke: edge ? "transparent" : () => color(name),
    width: edge ? 0 : kind === "single" ? 1 : 1.5,
    alpha: kind === "raw" || kind === "single" ? 0.35 : 1,
    dash: group < 4 ? undefined : group < 6 ? DASHES[3] : DASHES[Math.floor(group / 6)],
    paths: kind === "points" ? () => null : few ? uPlot.paths.stepped({ align: 1 }) : undefined,
    points: { show: (chart) => kind === "points" || (!edge && chart.data[0].length < 3), size: 4 },
    spanGaps: kind === "single",
  }
}

// A flat curve lies in the middle; any other fills the height with a little air.
function reach(_, low, high) {
  if (low === null) return [0, 1]
  const air = (high - low) * 0.06 || Math.abs(low) * 0.1 || 1
  return [low - air, high + air]
}

function reading(chart, figure) {
  const i = chart.cursor.idx
  if (i === null || i === undefined || i >= chart.data[0].length) return ""
  const at = (place) => { const value = chart.data[place + 1][i]; return value === null || value === undefined ? "-" : +value.toPrecision(5) }
  const raw = chart.plan.some(({ kind }) => kind === "raw")
  const said = chart.plan.flatMap(({ kind, group, runs }, place) => {
    if (kind !== (raw ? "raw" : isScatter() ? "points" : "line") || !chart.series[place + 1].show) return []
    if ("many" in figure.dataset && chart.plan[(chart.nearest ?? 0) - 1]?.group !== group) return []
    if (isScatter() && at(place) === "-") return []
    const value = runs?.length > 1 && chart.plan[place - 1]?.kind === "high" ? `${at(place)} (${at(place - 2)} to ${at(place - 1)})` : String(at(place))
    const name = "tall" in figure.dataset && document.querySelector(`[data-run="${group}"] code`)?.textContent
    return [name ? `${name} ${value}` : value]
  })
  return `${unitOf(figure)} ${+chart.data[0][i].toPrecision(8)}: ${said.join(", ")}`
}

function drawBand(chart, figure) {
  const { low, high } = figure.dataset.low === undefined && figure.dataset.axis === box().dataset.axis ? box().dataset : figure.dataset
  if (low === undefined || over()) return
  const { ctx, bbox } = chart
  const clamp = (step) => Math.min(bbox.left + bbox.width, Math.max(bbox.left, chart.valToPos(step, "x", true)))
  const [from, to] = [clamp(Number(low)), clamp(Number(high))]
  ctx.fillStyle = color("--wash")
  ctx.fillRect(from, bbox.top, Math.max(to - from, 1), bbox.height)
}

function drawMarks(chart, figure) {
  const { best } = figure.closest("#plots").dataset
  const { left, top, width, height } = chart.bbox
  if (!over()) {
    line(chart, figure.dataset.onset, "x", "--red", [])
    line(chart, best, "x", "--green", [4, 4])
  }
  line(chart, figure.dataset.level, "y", "--muted", [5, 4])
  function line(chart, text, scale, name, dash) {
    const value = number(text)
    const { min, max } = chart.scales[scale]
    if (value === null || value < min || value > max) return
    const at = Math.round(chart.valToPos(value, scale, true)) + 0.5
    const { ctx } = chart
    ctx.save()
    ctx.strokeStyle = color(name)
    ctx.lineWidth = devicePixelRatio
    ctx.setLineDash(dash)
    ctx.beginPath()
    ctx.moveTo(scale === "x" ? at : left, scale === "x" ? top : at)
    ctx.lineTo(scale === "x" ? at : left + width, scale === "x" ? top + height : at)
    ctx.stroke()
    ctx.restore()
  }
}

// --- zoom: one view for all curves on one axis ---

function select(chart, axis) {
  const { left, width } = chart.select
  if (width < 3) return
  const steps = chart.data[0] // a view begins and ends at a point
  const view = [left, left + width].map((at) => steps[chart.posToIdx(at)])
  if (!(view[0] < view[1])) [view[0], view[1]] = [chart.posToVal(left, "x"), chart.posToVal(left + width, "x")]
  chart.setSelect({ left: 0, width: 0, top: 0, height: 0 }, false)
  look(axis, view)
}

function look(axis, view) {
  const now = views.get(axis)
  if (now?.[0] === view?.[0] && now?.[1] === view?.[1]) return
  if (view) views.set(axis, view)
  else views.delete(axis)
  remember("zoom", views.size ? JSON.stringify([...views]) : "")
  tellControls()
  refresh(axis)
}

export function zoom(how) {
  if (!box()) return
  for (const axis of new Set(figures().map(axisOf))) {
    if (how === "onset" && box().dataset.axis !== undefined && axis !== box().dataset.axis) continue
    const all = whole(figures().find((figure) => axisOf(figure) === axis))
    const [from, to] = how === "all" ? all : moved(how, views.get(axis) ?? all)
    look(axis, from <= all[0] && to >= all[1] ? undefined : [Math.max(from, all[0]), Math.min(to, all[1])])
  }
}

// The interval of the onset, in whole steps where the run counts in them; where there is none, the onset with some room.
function framed(onset, low, high, room, counts) {
  if (low !== null && high !== null && low < high) return counts ? [Math.floor(low), Math.ceil(high)] : [low, high]
  return onset === null ? null : [onset - room, onset + room]
}

function moved(how, [min, max]) {
  const [middle, half] = [(min + max) / 2, (max - min) / 2]
  switch (how) {
    case "in": return [middle - half / 2, middle + half / 2]
    case "out": return [middle - half * 2, middle + half * 2]
    case "left": return [min - half / 2, max - half / 2]
    case "right": return [min + half / 2, max + half / 2]
    case "onset": return framed(...["onset", "low", "high"].map((name) => number(box().dataset[name])), half / 4, isWhole(mainFigure())) ?? [min, max]
  }
}

// --- a curve as a picture: drawn anew as SVG, which a canvas turns into PNG ---

const WIDTH = 1600 // least pixels of a PNG, and two for one of the screen

export async function savePicture(figure, kind) {
  const chart = charts.get(figure)
  if (!chart) return
  const name = `${metric(figure)}.${kind}`.replace(/[^\w.-]+/g, "-")
  const text = new XMLSerializer().serializeToString(picture(figure, chart))
  if (kind === "svg") return download(new Blob([text], { type: "image/svg+xml" }), name)
  const image = new Image()
  image.src = `data:image/svg+xml,${encodeURIComponent(text)}`
  await image.decode()
  const scale = Math.max(2, WIDTH / image.width)
  const canvas = Object.assign(document.createElement("canvas"), { width: scale * image.width, height: scale * image.height })
  canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height)
  canvas.toBlob((blob) => download(blob, name))
}

function download(blob, name) {
  const link = Object.assign(document.createElement("a"), { href: URL.createObjectURL(blob), download: name })
  link.click()
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000)
}

function node(name, attributes, text = "") {
  const made = document.createElementNS("http://www.w3.org/2000/svg", name)
  for (const [key, value] of Object.entries(attributes)) if (value !== undefined) made.setAttribute(key, value)
  made.textContent = text
  return made
}

// What the lines and the band of a figure mark, as [kind, value or ends, scale, colour, dash, words]; those that are in sight.
function marks(figure, chart) {
  const { best } = box().dataset
  const own = figure.dataset.low === undefined && figure.dataset.axis === box().dataset.axis ? box().dataset : figure.dataset
  const [low, high] = [number(own.low), number(own.high)]
  const steps = over() ? [] : [
    ["band", [low, high], "x", "--wash", undefined, "between"],
    ["line", number(figure.dataset.onset), "x", "--red", undefined, "onset"],
    ["line", number(best), "x", "--green", "4 4", "best checkpoint"],
  ]
  const all = [...steps, ["line", number(figure.dataset.level), "y", "--muted", "5 4", "threshold"]]
  return all.flatMap(([kind, value, scale, name, dash, words]) => {
    const { min, max } = chart.scales[scale]
    if ([value].flat().some((end) => end === null) || (kind === "line" ? value < min || value > max : value[1] < min || value[0] > max)) return []
    const unit = scale === "x" ? `${unitOf(figure)} ` : ""
    const said = kind === "band" ? `${words} ${unit}${value.map(short).join(" and ")}` : `${words}, ${unit}${short(value)}`
    return [[kind, value, scale, name, dash, said]]
  })
}

// What the canvas shows, with the name of the curve and of the runs that are shown, and what is marked.
function picture(figure, chart) {
  const [left, top, plotWidth, plotHeight] = ["left", "top", "width", "height"].map((side) => chart.bbox[side] / devicePixelRatio)
  const shown = chart.plan.map((plan, i) => ({ ...plan, i: i + 1, look: line(plan) })).filter(({ i }) => chart.series[i].show && chart.data[i].some(Number.isFinite))
  const named = [...document.querySelectorAll(".legend [data-run]")].filter(({ dataset }) => shown.some(({ group }) => String(group) === dataset.run))
  const marked = marks(figure, chart)
  const head = 24 + 18 * (named.length + marked.length)
  const runs = JSON.parse(box().dataset.runs)
  const title = [figure.querySelector("code").textContent, ...(runs.length === 1 ? runs : [])].join(" of ")
  const [width, height] = [chart.width, head + chart.height + 18]
  const words = { fill: color("--ink"), "font-family": "system-ui, sans-serif", "font-size": 12 }
  const quiet = { ...words, fill: color("--muted"), "font-size": 11 }
  const place = (value, scale) => chart.valToPos(value, scale).toFixed(1)
  const stroke = ({ look }) => ({ stroke: look.stroke(), "stroke-width": look.width, "stroke-opacity": look.alpha, "stroke-dasharray": look.dash?.join(" "), fill: "none" })
  const svg = node("svg", { xmlns: "http://www.w3.org/2000/svg", width, height, viewBox: `0 0 ${width} ${height}` })
  svg.append(node("rect", { width, height, fill: color("--paper") }), node("text", { ...words, x: 8, y: 16, "font-weight": "bold" }, title))
  named.forEach((button, i) => {
    const its = shown.find(({ group, kind }) => String(group) === button.dataset.run && !["low", "high"].includes(kind))
    svg.append(node("path", { ...stroke(its), d: `M8,${30 + 18 * i}h24` }), node("text", { ...words, x: 40, y: 34 + 18 * i }, button.textContent))
  })
  marked.forEach(([kind, , , name, dash, said], i) => {
    const y = 30 + 18 * (named.length + i)
    svg.append(node("path", { d: `M8,${y}h24`, stroke: color(name), "stroke-width": kind === "band" ? 10 : 1.5, "stroke-dasharray": dash }), node("text", { ...words, x: 40, y: y + 4 }, said))
  })
  const clip = node("clipPath", { id: "plot" })
  clip.append(node("rect", { width: plotWidth, height: plotHeight }))
  const plot = node("g", { transform: `translate(${left},${head + top})` })
  const [inside, outside] = [node("g", { "clip-path": "url(#plot)" }), node("g", {})]
  for (const [axis, scale] of [[chart.axes[0], "x"], [chart.axes[1], "y"]]) {
    axis._splits.forEach((value, i) => {
      const [at, text] = [place(value, scale), axis._values[i] ?? ""]
      if (scale === "y") outside.append(node("path", { d: `M0,${at}h${plotWidth}`, stroke: color("--line") }))
      outside.append(node("text", { ...quiet, ...(scale === "x" ? { x: at, y: plotHeight + 16, "text-anchor": "middle" } : { x: -6, y: Number(at) + 4, "text-anchor": "end" }) }, text))
    })
  }
  outside.append(node("text", { ...quiet, x: plotWidth, y: plotHeight + 34, "text-anchor": "end" }, unitOf(figure)))
  const points = (i) => chart.data[0].map((x, k) => [x, chart.data[i][k]])
  const path = (all) => { // null is a gap; undefined is a step of another run
    let [pen, d] = ["M", ""]
    for (const [x, y] of all) {
      if (y === null) pen = "M"
      if (!Number.isFinite(y)) continue
      const at = [place(x, "x"), place(y, "y")]
      d += pen === "L" && "few" in figure.dataset ? `H${at[0]}V${at[1]}` : `${pen}${at}`
      pen = "L"
    }
    return d
  }
  for (const one of shown) {
    if (one.kind === "low") {
      const [low, high] = [one.i, one.i + 1].map((i) => points(i).filter(([, y]) => Number.isFinite(y)))
      inside.append(node("path", { d: `${path([...low, ...high.reverse()])}Z`, fill: color(COLORS[(one.group % LOOKS) % COLORS.length]), "fill-opacity": 0.22 }))
    } else if (one.kind === "points") {
      for (const [x, y] of points(one.i)) if (Number.isFinite(y)) inside.append(node("circle", { cx: place(x, "x"), cy: place(y, "y"), r: 2, fill: one.look.stroke() }))
    } else if (one.kind !== "high") {
      inside.append(node("path", { ...stroke(one), d: path(points(one.i)) }))
    }
  }
  for (const [kind, value, scale, name, dash] of marked) {
    if (kind === "band") {
      const [from, to] = value.map((end) => Number(place(end, "x")))
      inside.prepend(node("rect", { x: from, width: Math.max(to - from, 1), height: plotHeight, fill: color(name) }))
      continue
    }
    const at = place(value, scale)
    inside.append(node("path", { d: scale === "x" ? `M${at},0v${plotHeight}` : `M0,${at}h${plotWidth}`, stroke: color(name), "stroke-dasharray": dash }))
  }
  plot.append(clip, outside, inside)
  svg.append(plot)
  return svg
}
