// Before the first paint, so that no page flashes in the other theme.
const theme = localStorage.getItem("firstbreak-theme")
if (theme) document.documentElement.dataset.theme = theme
