"use strict"
// One sample at a time, marked by key or by button. Nothing from a sample is ever put into the page here.
const body = document.body, samples = [...document.querySelectorAll("article.sample")]
const buttons = [...document.querySelectorAll("nav [data-mark]")]
const place = document.querySelector(".place"), saved = document.querySelector(".saved")
let at = Math.max(0, samples.findIndex(sample => !sample.dataset.mark)), unsaved = 0

function show(index) {
  at = Math.min(Math.max(index, 0), samples.length - 1)
  samples.forEach((sample, i) => sample.classList.toggle("current", i === at))
  const marked = samples.filter(sample => sample.dataset.mark).length
  const counts = ["keep", "hack", "unsure"].map(word => `${samples.filter(s => s.dataset.mark === word).length} ${word}`)
  const all = marked === samples.length ? `: ${counts.join(", ")}` : ""
  place.textContent = `${at + 1} of ${samples.length}, ${marked} marked${all}`
  for (const button of buttons) button.setAttribute("aria-pressed", String(button.dataset.mark === samples[at].dataset.mark))
}

function mark(word) {
  const sample = samples[at]
  sample.dataset.mark = sample.dataset.mark === word ? "" : word
  const changed = sample.dataset.mark
  unsaved += 1
  saved.textContent = "not saved yet"
  show(changed ? at + 1 : at)
}

function download() {
  const marks = Object.fromEntries(samples.filter(s => s.dataset.mark).map(s => [s.dataset.key, { mark: s.dataset.mark }]))
  const link = document.createElement("a")
  link.href = URL.createObjectURL(new Blob([JSON.stringify({ schema: "firstbreak.marks/1", marks }, null, 1)], { type: "application/json" }))
  link.download = "marks.json"
  link.click()
  setTimeout(() => URL.revokeObjectURL(link.href), 1000)
  unsaved = 0
  saved.textContent = "saved as a download"
}

const KEYS = {
  1: () => mark("keep"), 2: () => mark("hack"), 3: () => mark("unsure"),
  ArrowRight: () => show(at + 1), ArrowLeft: () => show(at - 1), j: () => show(at + 1), k: () => show(at - 1),
  r: () => { const earned = samples[at].querySelector("details"); earned.open = !earned.open },
  s: download,
}

if (samples.length) {
  body.classList.add("one")
  show(at)
  addEventListener("keydown", event => {
    if (event.ctrlKey || event.metaKey || event.altKey || !Object.hasOwn(KEYS, event.key)) return
    event.preventDefault()
    KEYS[event.key]()
  })
  for (const button of buttons) button.addEventListener("click", () => mark(button.dataset.mark))
  for (const button of document.querySelectorAll("[data-go]")) button.addEventListener("click", () => show(at + Number(button.dataset.go)))
  document.querySelector(".save").addEventListener("click", download)
  addEventListener("beforeunload", event => { if (unsaved) event.preventDefault() })
}
