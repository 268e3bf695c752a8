// How people ask a picture: by pointer and key. The same for every chart, from the fields that charts lay.
//
//   pointer   cursor and readout; a click opens what is under it; a drag zooms to a range, a double click shows all
//   keys      ← → move the cursor, Enter opens, 0 shows all, Escape puts the cursor away

import { cursorOf, fieldOf, linkOf, point, pointAt, pointsOf, readout, toggle, zoom } from "./field.js";

const REACH = 14; // pixels from a point that is read or opened
const DRAG = 5; // pixels: a shorter drag is a click
let drag = null, over = null, seen = null;

const pictureOf = (event) => {
  const found = event.target.closest?.("svg.chart");
  return found && fieldOf(found) ? found : null;
};

const place = (picture, { clientX, clientY }) => {
  const { left, top } = picture.getBoundingClientRect();
  return [clientX - left, clientY - top];
};

/** The value of the axis at a pixel. */
function valueAt({ axis, scale }, x) {
  const share = Math.min(1, Math.max(0, (x - scale.left) / (scale.right - scale.left)));
  return axis.low + share * (axis.high - axis.low);
}

function move(picture, event) {
  const field = fieldOf(picture), [x, y] = place(picture, event), near = pointAt(picture, x, y, REACH);
  picture.classList.toggle("opens", Boolean(near?.open));
  if (near?.look && near.x !== seen) near.look();
  seen = near?.x;
  if (field.isCloud) point(near && { link: linkOf(picture), value: near.x, point: near });
  else point(x < field.scale.left - 8 ? null : { link: linkOf(picture), value: valueAt(field, x) });
}

document.addEventListener("pointermove", (event) => {
  if (drag) return dragTo(event);
  const picture = pictureOf(event);
  if (picture) move(picture, event);
  else if (over) point(null);
  over = picture;
});

// ---- drag

document.addEventListener("pointerdown", (event) => {
  const picture = pictureOf(event);
  if (!picture || event.button || event.target.closest("a")) return;
  const field = fieldOf(picture), [x, y] = place(picture, event);
  drag = { picture, x, y, from: valueAt(field, x), isFar: false };
});

function dragTo(event) {
  const { picture, from } = drag, [x] = place(picture, event);
  drag.isFar ||= Math.abs(x - drag.x) > DRAG;
  if (!drag.isFar) return;
  event.preventDefault();
  point({ link: linkOf(picture), value: valueAt(fieldOf(picture), x), from });
}

document.addEventListener("pointerup", (event) => {
  if (!drag) return;
  const { picture, isFar, from, x, y } = drag;
  drag = null;
  if (!isFar) return open(pointAt(picture, x, y, REACH));
  const [low, high] = [from, valueAt(fieldOf(picture), place(picture, event)[0])].sort((a, b) => a - b);
  if (high > low) zoom(picture, { low, high });
});

document.addEventListener("dblclick", (event) => {
  const picture = pictureOf(event);
  if (picture) zoom(picture, null);
});

function open(found) {
  if (typeof found?.open === "string") location.assign(found.open);
  else found?.open?.();
}

// ---- keys

const KEYS = {
  ArrowRight: (picture) => step(picture, 1), ArrowLeft: (picture) => step(picture, -1),
  Home: (picture) => step(picture, -Infinity), End: (picture) => step(picture, Infinity),
  0: (picture) => zoom(picture, null),
  Enter: (picture) => open(atCursor(picture)),
  Escape: () => point(null),
};

document.addEventListener("keydown", (event) => {
  const picture = event.target.matches?.("svg.chart") && fieldOf(event.target) ? event.target : null;
  if (!picture || event.ctrlKey || event.metaKey || event.altKey || !(event.key in KEYS)) return;
  event.preventDefault();
  event.stopPropagation();
  KEYS[event.key](picture);
}, true);

const atCursor = (picture) => cursorOf(picture)?.point
  ?? pointsOf(picture).find((one) => one.open && one.x === cursorOf(picture)?.value);

/** To the next place where there is a point. */
function step(picture, by) {
  const { isCloud, axis: { low, high } } = fieldOf(picture);
  const points = pointsOf(picture).filter(({ x }) => x >= low && x <= high);
  if (!points.length) return;
  const places = isCloud ? points : [...new Map(points.map((one) => [one.x, one])).values()];
  const now = cursorOf(picture), found = isCloud ? places.findIndex((one) => isSame(one, now?.point)) : places.findIndex(({ x }) => x >= now?.value);
  const at = now && found >= 0 ? found + by : by > 0 ? 0 : places.length - 1;
  const to = places[Math.min(places.length - 1, Math.max(0, Number.isFinite(by) ? at : by > 0 ? places.length - 1 : 0))];
  point({ link: linkOf(picture), value: to.x, point: isCloud ? to : undefined, isExact: true });
  tell(readout(picture));
}

const isSame = (one, other) => one.name === other?.name && one.x === other?.x && one.y === other?.y && one.text === other?.text;

let told = null;
/** Say what the cursor reads, for who does not see it. */
function tell(words) {
  if (!told) {
    told = document.querySelector("main").appendChild(document.createElement("p"));
    told.className = "hidden";
    told.setAttribute("role", "status");
  }
  told.textContent = words;
}

// ---- legends

document.addEventListener("click", ({ target }) => {
  const key = target.closest?.("[data-series]");
  if (key) toggle(key.dataset.series);
});
