// The page of a prompt set: draws the lengths of its prompts, also when a worker counts them while the page is open.

import { chartsOf, dataOf } from "../core/charts.js";

async function draw() {
  if (document.querySelector("#lengths .charts:empty")) (await chartsOf()).draw(dataOf());
}

document.addEventListener("htmx:afterSettle", draw);
draw();
