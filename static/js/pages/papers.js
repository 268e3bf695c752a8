// A page with many figures: each place draws its own.

import { chartsOf, dataOf } from "../core/charts.js";

const { figures } = dataOf();
for (const figure of figures) {
  const place = document.getElementById(figure.slug);
  if (figure.needs || !place) continue;
  place.querySelector("[data-charts]").dataset.id = `figure-${figure.slug}`;
  (await chartsOf(place)).draw({ figure });
}
