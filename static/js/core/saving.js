// Save a chart as a file: its pictures with title and legend in one SVG that needs no style sheet, or that SVG as a PNG.

const STYLES = ["fill", "fill-opacity", "stroke", "stroke-width", "stroke-dasharray", "stroke-linecap", "stroke-linejoin", "opacity",
  "font-size", "font-weight", "paint-order", "visibility"];
const SCALE = 2; // pixels of a PNG for each of the page's
const MARGIN = 24, TITLE = 36, LEGEND = 28;
const space = "http://www.w3.org/2000/svg";

/** Offer a file to whoever asked for it. */
export function save(name, content, type) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(content instanceof Blob ? content : new Blob([content], { type }));
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}

export async function savePicture(section, name, kind) {
  const picture = await pictureOf(section);
  if (kind === "svg") return save(`${name}.svg`, picture, "image/svg+xml");
  save(`${name}.png`, await painted(picture));
}

/** Let the buttons of a section save its picture. */
export function savesOnClick(section, name) {
  section.addEventListener("click", ({ target }) => {
    const kind = target.closest("[data-save]")?.dataset.save;
    if (kind) savePicture(section, name, kind.toLowerCase());
  });
}

/** Paint an SVG. */
async function painted(text) {
  const image = new Image();
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(text)}`;
  await image.decode();
  const canvas = document.createElement("canvas");
  canvas.width = image.width * SCALE;
  canvas.height = image.height * SCALE;
  canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
  return new Promise((resolve) => canvas.toBlob(resolve, "image/png"));
}

/** The text of an SVG of all pictures of a section, as they lie on the page. */
async function pictureOf(section) {
  const marks = await marksOf(section), style = getComputedStyle(document.body);
  const pictures = [...section.querySelectorAll("svg.chart, figcaption")].filter((one) => one.getClientRects().length);
  const boxes = pictures.map((one) => one.getBoundingClientRect());
  const left = Math.min(...boxes.map((box) => box.left)), top = Math.min(...boxes.map((box) => box.top));
  const width = Math.max(...boxes.map((box) => box.right)) - left, bottom = Math.max(...boxes.map((box) => box.bottom)) - top;
  const legend = legendOf(section, style), height = TITLE + bottom + (legend ? LEGEND : 0) + 2 * MARGIN;
  const whole = drawn("svg", { xmlns: space, width: width + 2 * MARGIN, height, "font-family": "system-ui, sans-serif" });
  whole.append(drawn("rect", { width: "100%", height: "100%", fill: style.getPropertyValue("--paper").trim() }),
    drawn("text", { x: MARGIN, y: MARGIN + 16, "font-size": 16, "font-weight": 600, fill: style.color }, section.querySelector("h2").textContent));
  pictures.forEach((picture, i) => whole.append(placed(picture, marks, MARGIN + boxes[i].left - left, MARGIN + TITLE + boxes[i].top - top, boxes[i])));
  if (legend) {
    legend.setAttribute("transform", `translate(${MARGIN},${height - MARGIN})`);
    whole.append(legend);
  }
  return new XMLSerializer().serializeToString(whole);
}

function drawn(name, attributes, text) {
  const made = document.createElementNS(space, name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  if (text) made.textContent = text;
  return made;
}

function placed(picture, marks, x, y, { width, height }) {
  if (picture.localName === "figcaption") {
    return drawn("text", { x, y: y + 14, "font-size": 13, fill: getComputedStyle(picture).color }, picture.textContent);
  }
  const copy = styled(picture, marks);
  for (const [key, value] of Object.entries({ x, y, width, height, overflow: "visible" })) copy.setAttribute(key, value);
  return copy;
}

/** A copy with the styles that a page gives it, and with its marks inside. */
function styled(element, marks) {
  const copy = element.cloneNode(true), from = [element, ...element.querySelectorAll("*")], to = [copy, ...copy.querySelectorAll("*")];
  from.forEach((one, i) => {
    const style = getComputedStyle(one);
    for (const name of STYLES) to[i].setAttribute(name, style.getPropertyValue(name));
    if (one.localName === "use") to[i].replaceWith(markIn(marks, one, style));
  });
  for (const gone of copy.querySelectorAll(".cursor, title")) gone.remove();
  for (const name of ["class", "id", "role", "tabindex", "style", "aria-labelledby", "aria-describedby"]) copy.removeAttribute(name);
  return copy;
}

function markIn(marks, use, style) {
  const symbol = marks.getElementById(use.getAttribute("href").split("#")[1]);
  const mark = drawn("svg", { viewBox: symbol.getAttribute("viewBox"), fill: style.fill, stroke: style.stroke, overflow: "visible",
    ...Object.fromEntries(["x", "y", "width", "height"].map((name) => [name, use.getAttribute(name)])) });
  mark.innerHTML = symbol.innerHTML;
  return mark;
}

/** The sheet of marks: in the page, or beside it. */
async function marksOf(section) {
  const address = section.closest("[data-marks]")?.dataset.marks;
  if (!address) return document;
  return new DOMParser().parseFromString(await (await fetch(address)).text(), "image/svg+xml");
}

/** Names of the series that are shown, each after a stroke of its colour. */
function legendOf(section, style) {
  const keys = [...section.querySelectorAll("[data-series][aria-pressed=true]")];
  if (!keys.length) return null;
  const group = drawn("g", { "font-size": 12, fill: style.color });
  let x = 0;
  for (const key of keys) {
    const line = key.querySelector(".line"), look = getComputedStyle(line ?? key);
    group.append(drawn("path", { d: `M${x},-4h24`, stroke: line ? look.stroke : look.getPropertyValue("--c").trim() || style.color,
      "stroke-width": 2, "stroke-dasharray": line ? look.strokeDasharray : "none" }), drawn("text", { x: x + 30, y: 0 }, key.textContent));
    x += 54 + 7 * key.textContent.length;
  }
  return group;
}
