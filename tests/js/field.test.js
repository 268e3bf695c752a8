import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";

globalThis.document = Object.assign(new EventTarget(), { querySelectorAll: () => pictures });
let pictures = [];
const { fieldOf, isHidden, layField, linesOf, point, pointAt, pointsOf, readings, shownOf, toggle, zoom } = await import("../../static/js/core/field.js");

const scale = (low, high) => ({ x: (value) => ((value - low) / (high - low)) * 100, y: (value) => 100 - value, left: 0, right: 100, top: 0, bottom: 100 });
const lineOf = (name, ...points) => ({ name, points: points.map(([x, y]) => ({ x, y })) });

function picture(whole, series, more = {}) {
  const made = { setAttribute: () => {}, hasAttribute: () => false, querySelector: () => null };
  layField(made, { axis: whole, scale: scale(whole.low, whole.high), series, head: (value) => `at ${value}`, ...more });
  pictures.push(made);
  return made;
}

beforeEach(() => {
  pictures = [];
  point(null);
});

test("a cursor reads the nearest point of every series, in every picture with the same link", () => {
  const [one, other] = ["a", "b"].map((name) => picture({ low: 0, high: 10, link: "epoch" }, [lineOf(name, [0, 1], [4, 2], [10, 3])]));
  point({ link: "epoch", value: 5 });
  assert.deepEqual([one, other].map((made) => readings(made).map(({ name, y }) => [name, y])), [[["a", 2]], [["b", 2]]]);
  assert.deepEqual(linesOf(fieldOf(one), readings(one)), ["at 5", "a\u20022"]);
});

test("a part of a linked axis is shown in all charts with it, and the whole again", () => {
  const whole = { low: 0, high: 10, link: "time" };
  const made = picture(whole, []), other = picture(whole, []);
  zoom(made, { low: 6, high: 9 });
  assert.deepEqual([shownOf(other, whole).low, shownOf(other, whole).high], [6, 9]);
  zoom(made, null);
  assert.equal(shownOf(other, whole), whole);
});

test("a hidden series is read nowhere until it is shown again", () => {
  const made = picture({ low: 0, high: 10 }, [lineOf("a", [1, 1]), lineOf("b", [1, 9])]);
  toggle("a");
  assert.ok(isHidden("a"));
  assert.deepEqual(pointsOf(made).map(({ name }) => name), ["b"]);
  toggle("a");
  assert.deepEqual(pointsOf(made).map(({ name }) => name), ["a", "b"]);
});

test("of a cloud the point under the pointer is read, and none that is out of reach", () => {
  const made = picture({ low: 0, high: 100 }, [lineOf("a", [10, 90], [50, 50])], { isCloud: true });
  assert.equal(pointAt(made, 12, 11, 14).x, 10);
  assert.equal(pointAt(made, 30, 30, 14), null);
});
