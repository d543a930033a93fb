// What every page does: theme, keys, filter, times, and following what the server says has changed.
import { asked, remember } from "./address.js"
import { attach, clear, enlarge, figures, hide, library, metric, openCurve, redraw, refresh, repaint, savePicture, zoom, zoomTo } from "./plots.js"

const THEMES = ["", "light", "dark"]
const $ = (selector, root = document) => root.querySelector(selector)
const $$ = (selector, root = document) => [...root.querySelectorAll(selector)]

function cycleTheme() {
  const root = document.documentElement
  const next = THEMES[(THEMES.indexOf(root.dataset.theme ?? "") + 1) % THEMES.length]
  if (next) root.dataset.theme = next
  else delete root.dataset.theme
  localStorage.setItem("firstbreak-theme", next)
  say(`Theme: ${next || "as the system"}`)
  repaint()
}

function say(text) {
  $("#said").textContent = text
}

// --- times: said as distance from now, since a list is read for what is fresh ---

const AGO = new Intl.RelativeTimeFormat("en")
const WHEN = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "medium" })
const AGES = [[31557600, "year"], [2629800, "month"], [86400, "day"], [3600, "hour"], [60, "minute"], [1, "second"]]

function ago(seconds) {
  const [length, unit] = AGES.find(([length]) => seconds >= length) ?? [1, "second"]
  return AGO.format(-Math.max(0, Math.floor(seconds / length)), unit)
}

function tellTimes(root) {
  for (const time of $$("time[data-unix]", root)) {
    const unix = Number(time.dataset.unix)
    time.dateTime = new Date(unix * 1000).toISOString()
    time.title = WHEN.format(unix * 1000)
    time.textContent = ago(Date.now() / 1000 - unix)
  }
}

// --- filter and order, kept in the address so that they can be sent and survive a reload ---

let texts = new WeakMap() // row -> what is looked through
const BY_NAME = new Intl.Collator("en", { numeric: true })

function textOf(row) {
  if (!texts.has(row)) {
    const seen = row.cloneNode(true)
    for (const picture of $$("svg", seen)) picture.remove() // its words are not on the screen
    texts.set(row, `${row.dataset.name}\n${[...seen.cells].map((cell) => cell.textContent).join("\n")}`)
  }
  return texts.get(row)
}

const wordsOf = (field) => (field?.value ?? "").split(/\s+/).filter(Boolean)

// Each word is a regular expression, or stands for itself while it is none (yet).
function wanted() {
  const field = $("#filter")
  const words = wordsOf(field)
  const patterns = words.map(pattern)
  if ($(".runs, #plots")) field?.setAttribute("aria-invalid", String(patterns.includes(null)))
  return words.map((word, i) => (text) => (patterns[i] ? patterns[i].test(text) : text.toLowerCase().includes(word.toLowerCase())))
}

function pattern(word) {
  try {
    return new RegExp(word, "im") // ^ and $ are those of a name or a cell
  } catch {
    return null
  }
}

function filter(root = document) {
  const tests = wanted()
  const holds = (text) => tests.every((test) => test(text))
  const verdicts = asked("verdict").split(",").filter(Boolean)
  for (const chip of $$(".chip", root)) chip.setAttribute("aria-pressed", String(verdicts.includes(chip.dataset.verdict)))
  for (const row of $$(".runs tbody tr", root)) {
    row.hidden = !holds(textOf(row)) || (verdicts.length > 0 && !verdicts.includes(row.dataset.verdict))
  }
  const [rows, shown] = [".runs tbody tr", ".runs tbody tr:not([hidden])"].map((selector) => $$(selector, root).length)
  const none = $("#none", root)
  if (none) none.hidden = shown > 0
  const tally = $("#shown", root)
  const broken = wordsOf($("#filter")).filter((word) => !pattern(word)).map((word) => `${word} is not a regular expression; it is looked for as written. `)
  if (tally) tally.textContent = broken.join("") + (shown < rows ? `${shown} of ${rows} runs shown` : "")
  countTicked(root)
  for (const plot of $$(".plot", root)) plot.hidden = !holds($$("figcaption > :is(code, span)", plot).map((part) => part.textContent).join(" "))
  for (const group of $$("#plots :is(section, details):has(> .plots)", root)) {
    group.hidden = !$(".plot:not([hidden])", group)
    if (tests.length && group.matches("details")) group.open = true
  }
}

function onFilter() {
  if ($(".runs, #plots")) remember("q", $("#filter").value.trim())
  filter()
}

function chooseVerdict(verdict) {
  const chosen = new Set(asked("verdict").split(",").filter(Boolean))
  if (!chosen.delete(verdict)) chosen.add(verdict)
  remember("verdict", [...chosen].join())
  filter()
}

// The columns whose names have all words.
function findColumns(root = document) {
  const words = wordsOf($("#find-column")).map((word) => word.toLowerCase())
  for (const label of $$("#columns fieldset label", root)) label.hidden = !words.every((word) => label.textContent.toLowerCase().includes(word))
}

// A column that is added stands last: the table moves to it.
async function chooseColumns(added) {
  remember("column", $$("[name=column]:checked").map((box) => box.value))
  await update()
  if (added) $(".runs").scrollLeft = $(".runs").scrollWidth
}

function showAll() {
  $("#filter").value = ""
  remember("q", "")
  remember("verdict", "")
  filter()
}

// What a row is ordered by: of the run, or the number or word in a column. A run without it comes last, whichever way.
function order(root = document) {
  const [, down, by] = (asked("sort") || "urgency").match(/^(-?)(.*)$/)
  const way = down ? -1 : 1
  const body = $(".runs tbody", root)
  if (!body) return
  for (const button of $$("[data-sort]", root)) {
    const sorted = button.dataset.sort === by ? (down ? "descending" : "ascending") : null
    const other = $(`[data-sort="${CSS.escape(by)}"]`, button.closest("th"))
    button.classList.toggle("sorted", Boolean(sorted))
    if (sorted) button.closest("th").setAttribute("aria-sort", sorted)
    else if (!other) button.closest("th").removeAttribute("aria-sort")
  }
  const column = $(`[data-sort="${CSS.escape(by)}"]`, root)?.closest("th").cellIndex
  const key = (row) => row.dataset[by] ?? row.cells[column]?.dataset.value ?? ""
  const compare = (a, b) => !key(a) - !key(b) || way * (key(a) - key(b) || BY_NAME.compare(key(a), key(b)))
  const rows = $$("tr", body)
  rows.forEach((row, i) => (row.dataset.urgency ??= i)) // as the server has ordered them
  const sorted = rows.toSorted(compare)
  if (sorted.some((row, i) => row !== rows[i])) body.append(...sorted)
}

function sortBy(by) {
  const now = asked("sort") || "urgency"
  const first = ["changed", "last", "best"].includes(by) ? `-${by}` : by // the latest write and the highest score first
  const next = now === first ? (first.startsWith("-") ? by : `-${by}`) : first
  remember("sort", next === "urgency" ? "" : next)
  order()
}

// --- keys ---

const STOPS = ".runs tbody tr:not([hidden]), .finding, .sample"

function step(by) {
  const stops = $$(STOPS)
  if (!stops.length) return
  const now = stops.findIndex((stop) => stop.classList.contains("current"))
  const next = stops[Math.min(stops.length - 1, Math.max(0, now + by))] ?? stops[0]
  stops[now]?.classList.remove("current")
  next.classList.add("current")
  const target = $("a", next) ?? next
  if (target === next) next.tabIndex = -1
  target.focus({ preventScroll: true })
  next.scrollIntoView({ block: "nearest" })
}

const closeColumns = () => $("#columns")?.removeAttribute("open")

const KEYS = {
  Escape: closeColumns,
  j: () => step(1),
  k: () => step(-1),
  "/": () => $("#filter")?.focus(),
  u: () => ($(".trail a:not([download])") ?? $(".home")).click(),
  c: () => $("#curves")?.scrollIntoView(),
  "+": () => zoom("in"),
  "=": () => zoom("in"),
  "-": () => zoom("out"),
  "[": () => zoom("left"),
  "]": () => zoom("right"),
  0: () => zoom("all"),
  o: () => zoom("onset"),
  ...Object.fromEntries(["keep", "hack", "unsure"].map((word, i) => [i + 1, () => $(`.sample.current [data-mark=${word}]`)?.click()])),
  t: cycleTheme,
  "?": () => $("dialog").showModal(),
}

function onKey(event) {
  if (event.ctrlKey || event.metaKey || event.altKey) return
  if (event.target.closest("input:not([type=checkbox]), select, dialog")) {
    if (event.key === "Escape") event.target.blur()
    return
  }
  const act = KEYS[event.key]
  if (!act) return
  event.preventDefault()
  act()
}

// --- marks: saved at once; pressed again, taken back ---

async function mark(button) {
  const group = button.closest(".marks")
  const word = button.getAttribute("aria-pressed") === "true" ? "" : button.dataset.mark
  const body = JSON.stringify({ place: Number(group.dataset.place), mark: word })
  const answer = await fetch(group.dataset.address, { method: "POST", body })
  if (!answer.ok) return say("The mark could not be saved.")
  for (const other of $$("button", group)) other.setAttribute("aria-pressed", String(other.dataset.mark === word))
  say(word ? `Marked: ${word}` : "The mark is taken back.")
  tellMarked()
}

// After the last mark of a page: how many of each.
function tellMarked(root = document) {
  const all = $$(".sample .marks", root)
  const marked = all.map((group) => $("[aria-pressed=true]", group)?.dataset.mark).filter(Boolean)
  const counts = Object.entries(Object.groupBy(marked, (word) => word)).map(([word, those]) => `${those.length} ${word}`)
  const read = $("#read", root)
  if (read) read.textContent = all.length && marked.length === all.length ? `All ${all.length} on this page are marked: ${counts.join(", ")}.` : ""
}

// --- following ---

const KEPT = /^(class|data-(kind|seen|drawn|many|few))$/ // of a figure: what its chart has set

// The page becomes what the server says now. Focus, selection, ticks, what is open and drawn curves stay.
async function update() {
  const address = location.href
  const [answer] = await Promise.all([fetch(address), library("idiomorph")])
  if (!answer.ok) return
  const text = await answer.text()
  if (location.href !== address) return update() // another column or filter in the meantime; nothing is awaited after this
  // The answer is made by the same escaping as the page itself; a parsed document runs nothing.
  const fresh = new DOMParser().parseFromString(text, "text/html")
  const ticked = new Set($$("[name=run]:checked").map((box) => box.value))
  for (const box of $$("[name=run]", fresh)) box.checked = ticked.has(box.value)
  arrange(fresh)
  const [before, current] = [$("article")?.className, $(".current")]
  Idiomorph.morph($("main"), $("main", fresh), {
    callbacks: {
      beforeNodeMorphed: (node) => !node.matches?.(".canvas, .enlarge, .plot output, select, input:not([type=checkbox])"),
      beforeAttributeUpdated: (name, node) => !["open", "style"].includes(name) && !(node.matches(".plot") && KEPT.test(name)),
    },
  })
  current?.classList.add("current")
  texts = new WeakMap()
  document.title = fresh.title
  const now = $("article")?.className
  if (before && now && before !== now) say(`The verdict is now: ${$("article h2").textContent}`)
  clear()
  show()
}

const AGAIN = 3000 // ms until a connection that the browser has given up is tried again

function follow(address) {
  const events = new EventSource(address)
  const heard = (event) => (($("main").dataset.changed = event.data || $("main").dataset.changed), tellConnection(true))
  events.addEventListener("open", () => tellConnection(true))
  events.addEventListener("error", () => {
    tellConnection(false)
    if (events.readyState === EventSource.CLOSED) setTimeout(() => follow(address), AGAIN)
  })
  events.addEventListener("grown", (event) => (heard(event), refresh()))
  events.addEventListener("diagnosed", (event) => (heard(event), update()))
  addEventListener("pagehide", () => events.close())
}

let connected = null

// Whether the server answers, and how old the last thing is that was written.
function tellConnection(now = connected) {
  if (connected && now === false) say("Disconnected: firstbreak serve has stopped, or cannot be reached. The page goes on by itself when it is started again.")
  connected = now
  if (connected === null) return
  const live = $("#live")
  const unix = Number($("main").dataset.changed)
  const age = Date.now() / 1000 - unix
  live.className = connected ? (unix > 0 && age > GROWING ? "idle" : "on") : "off"
  live.textContent = connected ? written(unix, age) : "disconnected: this may be out of date"
  document.documentElement.dataset.connected = String(connected)
  live.title = connected ? "The page follows the files; the time is that of the latest write." : "firstbreak serve has stopped, or cannot be reached. The page goes on by itself when it is started again."
}

const GROWING = 120 // seconds without a write after which a log is not called live

function written(unix, age) {
  if (!(unix > 0)) return "connected"
  if (age > GROWING) return `connected, last written ${ago(age)}`
  return `live, ${age < 60 ? `${Math.max(0, Math.floor(age))} s ago` : ago(age)}`
}

// --- start ---

// What the script adds to a page, or to what the server says now before it becomes the page.
function arrange(root = document) {
  tellTimes(root)
  order(root)
  filter(root)
  findColumns(root)
  linkParts(root)
  tellMarked(root)
  addCopyButtons(root)
  linkDrawings(root)
}

// What only the page that is seen needs.
function show() {
  $(".runs")?.style.setProperty("--columns", $$('.runs [data-sort^="of "]').length)
  attach()
}

const ticksShown = (root = document) => $$(".runs tbody tr:not([hidden]) [name=run]:enabled", root)
let lastTicked = null

// With Shift, a click on a run also selects those between it and the one before.
function tick(box, range) {
  const shown = ticksShown()
  const [from, to] = [shown.indexOf(lastTicked), shown.indexOf(box)].sort((a, b) => a - b)
  if (range && from >= 0) for (const other of shown.slice(from, to + 1)) other.checked = box.checked
  lastTicked = box
  countTicked()
}

function countTicked(root = document) {
  const button = $("#compare", root)
  if (!button) return
  const n = $$("[name=run]:checked", root).length
  const ticks = ticksShown(root)
  const all = ticks.filter((box) => box.checked).length
  Object.assign($("#all", root), { checked: all > 0 && all === ticks.length, indeterminate: all > 0 && all < ticks.length })
  const most = Number(button.dataset.most)
  button.disabled = n < 2 || n > most
  button.textContent = n < 2 ? "Compare the selected runs" : n > most ? `Select at most ${most} runs` : `Compare ${n} runs`
}

// Each finding and cause gets a link to itself, to be sent to somebody.
function linkParts(root) {
  for (const part of $$(".finding > h3[id], .cause[id]", root)) {
    const heading = $(":scope > div > :last-child", part) ?? part
    if ($(".permalink", heading)) continue
    const link = document.createElement("a")
    link.href = `#${part.id}`
    link.textContent = "#"
    link.className = "permalink"
    link.setAttribute("aria-label", part.matches(".cause") ? "link to this cause" : "link to this finding")
    heading.append(link)
    const samples = $("#samples a[href^='/samples/']", root)
    if (!samples || part.matches(".cause")) continue
    const read = document.createElement("a")
    read.href = `${new URL(samples.href).pathname}?finding=${encodeURIComponent($("code", part).textContent)}&once=1`
    read.textContent = "read its samples"
    read.className = "reads"
    heading.append(read)
  }
}

// A drawing of the report leads to the curve that can be zoomed, smoothed and read.
function linkDrawings(root) {
  const curves = new Set(figures(root).map(metric))
  for (const drawing of $$("article .overlay, article .finding figure", root)) {
    const drawn = $$("code", drawing).map((code) => code.textContent)
    const shown = drawing.matches(".overlay") ? [$("#plots", root)?.dataset.shown ?? ""] : [] // the curve in which the break shows
    const name = [...shown, ...drawn].find((name) => curves.has(name))
    if (!name || $(".opens", drawing)) continue
    const button = document.createElement("button")
    Object.assign(button, { type: "button", className: "opens", textContent: "Zoom and read values" })
    button.dataset.opens = name
    button.setAttribute("aria-label", `Zoom and read values of ${name}`)
    const legend = $$("ul", drawing).at(-1)
    if (legend) legend.appendChild(document.createElement("li")).append(button)
    else $("figcaption", drawing).append(button)
  }
}

// Commands and settings get a button that copies them.
function addCopyButtons(root) {
  for (const place of $$(".copied", root)) {
    if ($("button", place)) continue
    const button = document.createElement("button")
    button.type = "button"
    button.textContent = "Copy"
    button.setAttribute("aria-label", `copy ${$("code", place).textContent}`)
    button.dataset.copies = ""
    place.append(button)
  }
}

async function copy(button, text) {
  try {
    await navigator.clipboard.writeText(text)
  } catch { // an address without TLS that is not this machine has no clipboard
    const box = document.body.appendChild(document.createElement("textarea"))
    box.value = text
    box.select()
    document.execCommand("copy")
    box.remove()
  }
  button.textContent = "Copied"
  say(`Copied: ${text}`)
  setTimeout(() => (button.textContent = "Copy"), 1500)
}

addEventListener("keydown", onKey)
document.addEventListener("input", ({ target }) => {
  if (target.id === "filter") onFilter()
  if (target.id === "find-column") findColumns()
})
document.addEventListener("change", ({ target }) => {
  if (target.id === "all") {
    for (const box of ticksShown()) box.checked = target.checked
    countTicked()
  }
  if (target.name === "column") chooseColumns(target.checked)
  if (target.matches(".find :is(select, [type=checkbox])")) target.form.requestSubmit() // what is chosen holds at once
  if (["smooth", "x"].includes(target.id)) redraw(target.id, target.value)
  if (["from", "to"].includes(target.id)) zoomTo()
  if (["log", "single"].includes(target.id)) redraw(target.id, target.checked ? "1" : "")
})
document.addEventListener("click", (event) => {
  if (!event.target.closest("#columns")) closeColumns()
  const button = event.target.closest("[data-zoom]")
  if (button) zoom(button.dataset.zoom)
  const larger = event.target.closest(".enlarge")
  if (larger) enlarge(larger.closest(".plot"))
  const curve = event.target.closest("[data-opens]")
  if (curve) openCurve(curve.dataset.opens)
  const word = event.target.closest("[data-mark]")
  if (word) mark(word)
  const shown = event.target.closest("[data-run]")
  if (shown) hide(shown.dataset.run)
  const copied = event.target.closest("[data-copies]")
  if (copied) copy(copied, $("code", copied.parentElement).textContent)
  const saved = event.target.closest("[data-save]")
  if (saved) savePicture(saved.closest(".plot"), saved.dataset.save)
  const chip = event.target.closest(".chip")
  if (chip) chooseVerdict(chip.dataset.verdict)
  const head = event.target.closest("[data-sort]")
  if (head) sortBy(head.dataset.sort)
  if (event.target.id === "unfilter") showAll()
  if (event.target.name === "run") tick(event.target, event.shiftKey)
  const row = event.target.closest(".runs tbody tr")
  if (row && !event.target.closest("a, input, .tick") && !String(getSelection())) $("th a", row).click()
})
$("#theme").addEventListener("click", cycleTheme)
$("#keys").addEventListener("click", () => $("dialog").showModal())
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", repaint)
setInterval(() => tellTimes(document), 30_000)
if ($(".runs, #plots") && $("#filter")) $("#filter").value = asked("q")
arrange()
show()
if (location.hash) document.getElementById(location.hash.slice(1))?.scrollIntoView()
const live = $("main").dataset.live
if (live) {
  follow(live)
  setInterval(tellConnection, 1000)
}
document.documentElement.dataset.ready = "" // keys and filters work from here on
