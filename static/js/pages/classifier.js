// The page of a classifier: where to stop, whether it means what it says, and how it learnt.

import { chartsOf, dataOf } from "../core/charts.js";
import { explore } from "../forms/explorer.js";
import { begin, fold } from "../live/log.js";

const data = dataOf(), { card, lines } = data.page;
if (document.getElementById("sweep")) explore(data.page);
(await chartsOf()).draw({ ...data, epochs: lines.reduce(fold, begin()).epochs });
