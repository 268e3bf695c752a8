// The page of a training under way.

import { chartsOf } from "../core/charts.js";
import { onLog } from "../live/work.js";

const charts = await chartsOf();
onLog((state) => charts.draw(state));
