"""Every name of `decoding` that the web process may use. Everything imported here needs the standard library only.

In `webapp`, import from here: then other modules can move without changing the service. To let the service see
something new, add its name here. An import contract refuses any other import, and anything that would load torch.
"""

from decoding import bounded_json
from decoding.backends import without_draft
from decoding.backends.contestants.servers.dialects import DIALECTS
from decoding.backends.contestants.servers.endpoint import DTYPES as SERVER_DTYPES
from decoding.backends.contestants.servers.endpoint import LARGEST_KEY, USUAL_DEADLINE_S, EndpointSpec, Reach
from decoding.backends.contestants.servers.endpoint import NAME as SERVER_NAME
from decoding.backends.contestants.servers.endpoint import USUAL_DTYPE as USUAL_SERVER_DTYPE
from decoding.backends.contestants.servers.guard import Allowed, allowed
from decoding.backends.misfit import misfit, trained_otherwise
from decoding.choice import Choice, choose, labelled, parse_choices, relabelled, remarks_on, renamed
from decoding.core.load import MOST_USERS, ONE, RATES, Load, loads, mean_rate
from decoding.dice.sampling import Sampling
from decoding.disco.cards import DESIGNS, OURS, SOURCES, rule_of, sharing_sentence
from decoding.disco.judging import CopyJudge, read_judge
from decoding.disco.prices import Prices
from decoding.drafting.params import LONGEST_TEXT, Param
from decoding.drafting.strategy import CLASSIFIER, JUDGE, JUDGED, Looks, Slider, Strategy
from decoding.errors import BadCheckpoint, BadLoad, BadPair, BadPrompts, BadSampling, BadServer, BadStrategy, meant
from decoding.measure import passes, spent, summary, worst
from decoding.measure.crossover import across_loads, load_of, paying
from decoding.measure.definitions import DEFINITIONS, DEFINITIONS_VERSION
from decoding.measure.latency import NO_OBJECTIVE, Objective, overloaded, parse_objective
from decoding.measure.ranking import are_too_few, outlook, ranked
from decoding.measure.sample import SampleResult, sample_from_dict
from decoding.measure.summary import ENDED, Stage, device_counts, so_few, usual_baseline, works_at_once
from decoding.measure.why import Texts
from decoding.models.folder import inspect as inspect_folder
from decoding.models.gguf.origin import about_speed as about_gguf_speed
from decoding.models.kinds import other_kind
from decoding.models.tensor_headers import LARGEST_HEADER, read_header
from decoding.papers.figure import kept_as
from decoding.papers.figures import FIGURES
from decoding.papers.files import FILES as FIGURE_FILES
from decoding.papers.settings import of_papers
from decoding.prices.cost_model import CostModel
from decoding.prices.fit import MOST_USERS as MOST_USERS_ASKED
from decoding.prices.fit import costs_from, drafting_is_clear, reading_cost, with_loads, with_mixes, with_trees
from decoding.prices.fit_ahead import prepared_in
from decoding.prices.machine_card import BadCard, Card, card_in_the_box, published, read_card
from decoding.prompts import containers as prompt_containers
from decoding.prompts import prompt as prompts
from decoding.prompts.chat.messages import Chat
from decoding.prompts.forms import FORMS, form_of
from decoding.prompts.prompt import PromptItem
from decoding.prompts.rows import BrokenRow
from decoding.replay import workload
from decoding.replay.oracle import BEST as BEST_OF_SOURCES
from decoding.replay.what_if.places import TracedText
from decoding.replay.what_if.simulation import AheadPrices, RecordedComparison, Simulation, oracle, simulate
from decoding.ssd import memory
from decoding.strategies import BASELINE, FORMER, STRATEGIES, current
from decoding.trace.events import Event, Started, Verified, from_dict
from decoding.training.splits import SPLITS
from decoding.vocabularies.fit import PairFinding, check_pair
from decoding.vocabularies.shared import METHODS, lacks_scores
from decoding.words import change, ms
