// Making pictures.

const SVG = "http://www.w3.org/2000/svg";

/** An SVG element with attributes and children; what is null is left out. */
export function svg(name, attributes = {}, ...children) {
  return fill(document.createElementNS(SVG, name), attributes, children);
}

/** An HTML element, likewise. */
export function html(name, attributes = {}, ...children) {
  return fill(document.createElement(name), attributes, children);
}

/** Other values for some of an element's attributes; one that stays as it is costs nothing. */
export function set(element, attributes) {
  for (const [key, value] of Object.entries(attributes)) {
    if (element.getAttribute(key) !== String(value)) element.setAttribute(key, value);
  }
}

function fill(element, attributes, children) {
  for (const [key, value] of Object.entries(attributes)) {
    if (value !== null && value !== undefined && value !== false) element.setAttribute(key, value === true ? "" : value);
  }
  element.append(...children.flat().filter((child) => child !== null && child !== undefined));
  return element;
}

/** A strategy's mark, centred: colour is never the only difference. `made` is how: as an element, or as a sketch of one. */
export function mark(strategy, r, x, y, made = svg) {
  const marks = document.querySelector("[data-marks]").dataset.marks;
  return made("use", { class: "mark", href: `${marks}#${strategy}`, x: x - r, y: y - r, width: 2 * r, height: 2 * r });
}

/** What a picture shows, in words; nothing changes where there are none. */
export function describe(picture, words) {
  if (words && picture.getAttribute("aria-label") !== words) picture.setAttribute("aria-label", words);
}

/** An element's width, kept up to date without asking for it while drawing, which would lay out the page each time. Who
 * draws by it listens for `remeasured`: it may change without the window. */
export function measured(element, usual = 600) {
  const size = { width: element.clientWidth || usual };
  new ResizeObserver(([entry]) => {
    const width = entry.contentRect.width || usual;
    if (width === size.width) return;
    size.width = width;
    dispatchEvent(new Event("remeasured"));
  }).observe(element);
  return size;
}
