// An element's children made what they ought to be by changing those that are there. A page that is watched is drawn many
// times a minute for hours, and each element that is made anew leaves itself, its style and its box to be swept up.

const drawn = new WeakMap(); // element → the sketch that it was drawn by

const isThere = (value) => value !== null && value !== undefined;

/** What an element is to be: a name, attributes, and as children texts and sketches; what is null is left out. */
export const sketch = (name, attributes = {}, ...children) =>
  ({ name, attributes: Object.fromEntries(Object.entries(attributes).filter(([, value]) => isThere(value))), children });

/** In the same place one of the same kind stays, and only what is different of it is changed. A node is taken as it is. */
export function become(place, ...children) {
  let at = place.firstChild;
  for (const wanted of children.flat().filter(isThere)) {
    const node = wanted.nodeType ? wanted : fits(at, wanted) ? at : begun(wanted, place);
    if (!at) place.append(node);
    else if (node !== at) at.replaceWith(node);
    if (wanted.name) dress(node, wanted);
    else if (!wanted.nodeType && node.data !== wanted) node.data = wanted;
    at = node.nextSibling;
  }
  while (at) {
    const gone = at;
    at = at.nextSibling;
    gone.remove();
  }
}

const fits = (node, wanted) => (wanted.name ? drawn.get(node)?.name === wanted.name : node?.nodeType === Node.TEXT_NODE);

const begun = (wanted, place) => (wanted.name ? document.createElementNS(spaceOf(wanted, place), wanted.name) : new Text(wanted));

const spaceOf = (wanted, place) => (wanted.name === "svg" ? "http://www.w3.org/2000/svg" : place.namespaceURI);

function dress(element, wanted) {
  if (drawn.get(element) === wanted) return;
  const was = drawn.get(element)?.attributes ?? {};
  for (const key of Object.keys(was)) if (!(key in wanted.attributes)) element.removeAttribute(key);
  for (const [key, value] of Object.entries(wanted.attributes)) if (was[key] !== value) element.setAttribute(key, value);
  drawn.set(element, wanted);
  become(element, ...wanted.children);
}
