// What a view is made of stands in the address, so that it can be sent and survives a reload.

export const asked = (name) => new URLSearchParams(location.search).get(name) ?? ""

export function remember(name, value) {
  const query = new URLSearchParams(location.search)
  if (value) query.set(name, value)
  else query.delete(name)
  history.replaceState(null, "", `${location.pathname}${query.size ? `?${query}` : ""}${location.hash}`)
}
