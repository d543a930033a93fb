// The curves of one run: drawn when they come into view, zoomed together, exact where the points fit on the screen.
// uPlot is a global of the script before this module.

import { asked, remember } from "./address.js"

const AT_ONCE = 24 // curves in one request
const HEIGHT = 150
const COLORS = ["--trace", "--amber", "--green", "--red", "--gray", "--ink"] // one for each run; page.css has the same order
const charts = new Map() // figure -> uPlot, or null while its points are on the way
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

const smoothing = () => Math.min(0.99, Math.max(0, Number(asked("smooth")) || 0)) // weight of what was before
const hidden = () => new Set(asked("hide").split(",").filter(Boolean))

const metric = (figure) => JSON.parse(figure.dataset.metric)
const figures = () => [...document.querySelectorAll(".plot")]
const number = (text) => (text === undefined ? null : Number(text))
const colors = new Map()
const compact = new Intl.NumberFormat("en", { notation: "compact", maximumSignificantDigits: 6 })

function short(value) {
  const size = Math.abs(value)
  if (size >= 1e15 || (size && size < 1e-3)) return value.toExponential(1)
  return size >= 1e4 ? compact.format(value) : String(+value.toPrecision(4))
}

// A canvas knows no variables and no light-dark(): the browser resolves them on an element, once for each theme.
function color(name) {
  if (!colors.has(name)) {
    const probe = document.querySelector("main").appendChild(document.createElement("span"))
    probe.style.color = `var(${name})`
    colors.set(name, getComputedStyle(probe).color)
    probe.remove()
  }
  return colors.get(name)
}

const whole = (figure) => [Number(figure.dataset.from), Number(figure.dataset.to)]

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
    if (axis !== undefined && figure.dataset.axis !== axis) continue
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
  const batches = Map.groupBy(wanted, (figure) => figure.dataset.axis)
  for (const [axis, group] of batches) {
    for (let i = 0; i < group.length; i += AT_ONCE) await fetchSome(axis, group.slice(i, i + AT_ONCE))
  }
}

async function fetchSome(axis, group) {
  const query = new URLSearchParams(group.map((figure) => ["metric", metric(figure)]))
  for (const run of JSON.parse(document.querySelector("#plots").dataset.runs)) query.append("run", run)
  const width = Math.max(...group.map((figure) => figure.clientWidth))
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
  const answer = await fetch(`/curves?${query}`)
  if (!answer.ok) return
  const curves = await answer.json()
  if (views.get(axis) !== view) return group.forEach(want) // zoomed again in the meantime
  for (const figure of group) {
    if (figure.isConnected) draw(figure, curves[metric(figure)], view)
  }
}

// One curve for each run. Runs that log at different steps share an axis of all their steps, and lines reach across.
function draw(figure, curves, view) {
  figure.classList.toggle("thinned", curves.some((curve) => curve && !curve.exact))
  const tables = curves.map((curve) => [curve?.steps ?? [], curve?.values ?? []])
  let data = tables.length === 1 ? tables[0] : uPlot.join(tables)
  const weight = smoothing()
  if (weight) data = [data[0], ...data.slice(1).flatMap((values) => [values, smoothed(values, weight)])]
  const log = "log" in figure.dataset || (asked("log") && data.slice(1).every((values) => values.every((value) => value === null || value === undefined || value > 0)))
  const kind = `${Boolean(weight)} ${Boolean(log)}`
  if (charts.get(figure) && figure.dataset.kind !== kind) {
    charts.get(figure).destroy()
    charts.delete(figure)
  }
  figure.dataset.kind = kind
  const chart = charts.get(figure) ?? new uPlot(options(figure, tables.length, weight, log), data, figure.querySelector(".canvas"))
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

// Smoothing and axis of all curves.
export function redraw(name, value) {
  remember(name, value)
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
  const each = smoothing() ? 2 : 1
  chart.batch(() => chart.series.slice(1).forEach((_, i) => chart.setSeries(i + 1, { show: !without.has(String(Math.floor(i / each))) })))
}

function tellControls() {
  const [smooth, log] = ["#smooth", "#log"].map((name) => document.querySelector(name))
  if (smooth) smooth.value = [...smooth.options].some((option) => option.value === asked("smooth")) ? asked("smooth") : ""
  if (log) log.checked = asked("log") === "1"
  for (const button of document.querySelectorAll("[data-run]")) button.setAttribute("aria-pressed", String(!hidden().has(button.dataset.run)))
  const output = document.querySelector("#range")
  if (output) output.textContent = [...views.values()].map(span).join("; ")
}

const span = (view) => view.map((step) => String(+step.toPrecision(9))).join(" to ")

function fit(figure, chart) {
  const width = figure.querySelector(".canvas").clientWidth
  if (width && width !== chart.width) chart.setSize({ width, height: HEIGHT })
}

addEventListener("resize", () => charts.forEach((chart, figure) => chart && fit(figure, chart)))

function options(figure, runs, weight, log) {
  const { axis, unit } = figure.dataset
  const output = figure.querySelector("output")
  const axes = { stroke: () => color("--muted"), font: "11px system-ui, sans-serif", ticks: { show: false } }
  return {
    width: figure.querySelector(".canvas").clientWidth,
    height: HEIGHT,
    padding: [8, 20, 0, 0], // half of the last number on the axis
    legend: { show: false },
    cursor: { sync: { key: axis }, drag: { x: true, y: false, setScale: false }, points: { size: 6 } },
    scales: { x: { time: false }, y: { distr: log ? 3 : 1, range: log ? undefined : reach } },
    axes: [
      { ...axes, size: 24, gap: 2, grid: { show: false }, values: (_, ticks) => ticks.map(short) },
      { ...axes, size: 52, gap: 4, grid: { stroke: () => color("--line"), width: 1 }, values: (_, ticks) => ticks.map((t) => (t === null ? "" : short(t))) },
    ],
    series: [{}, ...COLORS.slice(0, runs).flatMap((name, i) => (weight ? [{ ...line(name, i), alpha: 0.3 }, line(name, i)] : [line(name, i)]))],
    hooks: {
      ready: [(chart) => chart.over.addEventListener("dblclick", () => zoom("all"))],
      drawClear: [(chart) => drawBand(chart, figure)],
      draw: [(chart) => drawMarks(chart, figure)],
      setSelect: [(chart) => select(chart, axis)],
      setCursor: [(chart) => (output.textContent = reading(chart, unit, weight ? 2 : 1))],
    },
  }
}

const line = (name, i) => ({
  stroke: () => color(name),
  width: 1.5,
  dash: i < 4 ? undefined : [6, 3],
  points: { show: (chart) => chart.data[0].length < 3 },
})

// A flat curve lies in the middle; any other fills the height with a little air.
function reach(_, low, high) {
  if (low === null) return [0, 1]
  const air = (high - low) * 0.06 || Math.abs(low) * 0.1 || 1
  return [low - air, high + air]
}

function reading(chart, unit, each) {
  const i = chart.cursor.idx
  if (i === null || i === undefined || i >= chart.data[0].length) return ""
  const raw = chart.data.filter((_, place) => place % each === 1 % each && place > 0)
  const values = raw.map((values) => (values[i] === null || values[i] === undefined ? "-" : +values[i].toPrecision(5)))
  return `${unit} ${+chart.data[0][i].toPrecision(8)}: ${values.join(", ")}`
}

function drawBand(chart, figure) {
  const { low, high } = figure.dataset
  if (low === undefined) return
  const { ctx, bbox } = chart
  const clamp = (step) => Math.min(bbox.left + bbox.width, Math.max(bbox.left, chart.valToPos(step, "x", true)))
  const [from, to] = [clamp(Number(low)), clamp(Number(high))]
  ctx.fillStyle = color("--wash")
  ctx.fillRect(from, bbox.top, Math.max(to - from, 1), bbox.height)
}

function drawMarks(chart, figure) {
  const { best } = figure.closest("#plots").dataset
  const { left, top, width, height } = chart.bbox
  line(chart, figure.dataset.onset, "x", "--red", [])
  line(chart, best, "x", "--green", [4, 4])
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
  const view = [chart.posToVal(left, "x"), chart.posToVal(left + width, "x")]
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
  const box = document.querySelector("#plots")
  if (!box) return
  for (const axis of new Set(figures().map((figure) => figure.dataset.axis))) {
    const all = whole(figures().find((figure) => figure.dataset.axis === axis))
    const [from, to] = how === "all" ? all : moved(how, views.get(axis) ?? all, number(box.dataset.onset))
    look(axis, from <= all[0] && to >= all[1] ? undefined : [Math.max(from, all[0]), Math.min(to, all[1])])
  }
}

function moved(how, [min, max], onset) {
  const [middle, half] = [(min + max) / 2, (max - min) / 2]
  switch (how) {
    case "in": return [middle - half / 2, middle + half / 2]
    case "out": return [middle - half * 2, middle + half * 2]
    case "left": return [min - half / 2, max - half / 2]
    case "right": return [min + half / 2, max + half / 2]
    case "onset": return onset === null ? [min, max] : [onset - half / 4, onset + half / 4]
  }
}
