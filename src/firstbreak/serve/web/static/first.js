// Before the first paint, so that no page flashes in the other theme.
const theme = localStorage.getItem("firstbreak-theme")
if (theme) document.documentElement.dataset.theme = theme

// After it, so that a page is seen before it can be used; at once where the address asks for a filter, or nobody looks.
const begin = () => import("/static/page.js")
addEventListener("DOMContentLoaded", () => (location.search || document.hidden ? begin() : requestAnimationFrame(() => setTimeout(begin))))
