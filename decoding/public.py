"""Every name of `decoding` that the web process may use. Everything imported here needs the standard library only.

In `webapp`, import from here: then other modules can move without changing the service. To let the service see
something new, add its name here. An import contract refuses any other import, and anything that would load torch.
"""

from decoding import bounded_json, prompt_containers, prompts, summary
from decoding.config_bounds import check_against_tensors, check_numbers
from decoding.costs import Costs, costs_from, drafting_is_clear
from decoding.errors import BadCheckpoint, BadPair, BadPrompts, BadSampling, BadStrategy, meant
from decoding.events import Event, Verified, from_dict
from decoding.intervals import fewest_rows, median_interval
from decoding.misfit import misfit
from decoding.pairs import check_pair
from decoding.params import LONGEST_TEXT, Param
from decoding.prompt_containers import is_json_array, table_rows
from decoding.prompt_forms import FORMS
from decoding.prompts import Prompt
from decoding.ranking import order, ranking
from decoding.spec import Choice, Sampling, choose, parse_choices
from decoding.ssd import memory
from decoding.strategies import BASELINE, STRATEGIES
from decoding.strategy import Slider, Strategy
from decoding.summary import DEFINITIONS, so_few
from decoding.verdict import verdict
from decoding.what_if.ahead import Played, Stood, ahead_of, stood, surer
from decoding.what_if.places import Places
from decoding.what_if.recorded import Recorded
from decoding.what_if.simulation import Simulation, oracle, simulate
