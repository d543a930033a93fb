// What a view is made of stands in the address, so that it can be sent and survives a reload.

export const asked = (name) => new URLSearchParams(location.search).get(name) ?? ""

export function remember(name, value) {
  const query = new URLSearchParams(location.search)
  query.delete(name)
  for (const each of [value].flat()) if (each) query.append(name, each)
  history.replaceState(null, "", `${location.pathname}${query.size ? `?${query}` : ""}${location.hash}`)
}
