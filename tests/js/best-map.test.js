import assert from "node:assert/strict";
import { test } from "node:test";
import { sentence } from "../../static/js/charts/best-map.js";

const fields = [0.1, 0.6].map((price) => ({ price, acceptance: 0.8, best: "ssd", label: "ssd:4", speedups: { ssd: 1.5 } }));
const said = (price) => sentence({ found: { map: { fields, pair: { price, acceptance: 0.8 } } } });

test("a pair on the map is told what is best near it, and one far beyond that it is not on the map", () => {
  for (const price of [0.06, 0.3, 1.1]) assert.match(said(price), /Near there ssd is best/);
  for (const price of [0.01, 115]) assert.match(said(price), /That is beyond the map\. At its edge ssd is best/);
});
