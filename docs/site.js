// The theme wraps wide tables into a box that scrolls: the keyboard reaches it.
document$.subscribe(() => requestAnimationFrame(() => {
  for (const box of document.querySelectorAll(".md-typeset__scrollwrap")) box.tabIndex = 0
}))
