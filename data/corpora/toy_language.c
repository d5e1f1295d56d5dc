/* The rules and words of the toy corpus.
 *
 * How to read a rule: <deed> is, with the odds of the second column, one of the expansions in
 * the fourth. What keeps every sentence to one reading:
 *   - A noun has at most one thing behind it (a place, a relative clause, an aside), so that
 *     what follows a noun belongs to the noun right before it.
 *   - Asides stand between two commas, and only on subjects, where a verb must follow.
 *   - Time never stands where it could belong to either of two verbs.
 *   - A verb's past never equals its plural, and every sentence names something of its topic.
 * The test of this file holds all rules, and not samples only, to that promise. */
#include "data/corpora/toy.h"

enum { FLAT, NESTS };

static const ToyRule rules[] = {
    /* A sentence, while nobody is known, and after somebody was introduced. */
    {"<fresh>", 44, FLAT, "<claim> ."},
    {"<fresh>", 22, FLAT, "<opener> , <claim> ."},
    {"<fresh>", 34, FLAT, "<person> , <office> of <company> , <says.d> that <claim> ."},
    {"<sequel>", 24, FLAT, "<claim> ."},
    {"<sequel>", 12, FLAT, "<opener> , <claim> ."},
    {"<sequel>", 6, FLAT, "<person> , <office> of <company> , <says.d> that <claim> ."},
    {"<sequel>", 20, FLAT, "<his-title> <his-name> <deed.s> ."},
    {"<sequel>", 14, FLAT, "<pronoun> <deed.s> ."},
    {"<sequel>", 12, FLAT, "<his-firm> <deed.s> ."},
    {"<sequel>", 12, FLAT, "<claim> , <his-title> <his-name> said ."},
    {"<person>", 58, FLAT, "<man> <surname>"},
    {"<person>", 42, FLAT, "<woman> <surname>"},
    {"<office>", 80, FLAT, "<rank>"},
    {"<office>", 20, FLAT, "vice <rank>"},
    {"<company>", 1, FLAT, "<firm-name> <suffix>"},

    /* Somebody does something, or something happens to a thing or to its price. */
    {"<claim>", 28, FLAT, "<actor.s> <deed.s>"},
    {"<claim>", 28, FLAT, "<actor.p> <deed.p>"},
    {"<claim>", 11, FLAT, "<goods.s> <state.s>"},
    {"<claim>", 11, FLAT, "<goods.p> <state.p>"},
    {"<claim>", 9, FLAT, "the <gauge.s> of <object> <move.s>"},
    {"<claim>", 13, FLAT, "the <gauge.p> of <object> <move.p>"},

    {"<deed>", 24, FLAT, "<does>"},
    {"<deed>", 28, FLAT, "<did> <before>"},
    {"<deed>", 12, FLAT, "<modal> <verb.p> <object> <later>"},
    {"<deed>", 8, FLAT, "<have> <verb.d> <object>"},
    {"<deed>", 12, FLAT, "<hopes> to <verb.p> <object> <later>"},
    {"<deed>", 16, NESTS, "<says> that <claim>"},
    {"<action>", 55, FLAT, "<does>"},
    {"<action>", 45, FLAT, "<did>"},
    {"<does>", 58, FLAT, "<verb> <object>"},
    {"<does>", 16, FLAT, "<regards> <partner>"},
    {"<does>", 15, FLAT, "<leans> on <object>"},
    {"<does>", 11, FLAT, "<objects> to <object>"},
    {"<did>", 72, FLAT, "<verb.d> <object>"},
    {"<did>", 16, FLAT, "<regards.d> <partner>"},
    {"<did>", 12, FLAT, "<objects.d> to <object>"},
    {"<state>", 22, FLAT, "<is> <verb.d> by <partner>"},
    {"<state>", 38, FLAT, "<was> <verb.d> by <partner> <before>"},
    {"<state>", 22, FLAT, "<remains> <adjective>"},
    {"<state>", 18, FLAT, "<remains.d> <adjective> <before>"},
    {"<move>", 56, FLAT, "<rises.d> <extent> <before>"},
    {"<move>", 24, FLAT, "<rises> <manner>"},
    {"<move>", 20, FLAT, "<is> expected to <rises.p> <extent> <later>"},
    {"<extent>", 16, FLAT, ""},
    {"<extent>", 44, FLAT, "N %"},
    {"<extent>", 20, FLAT, "by $ N <unit>"},
    {"<extent>", 20, FLAT, "to N from N"},

    /* Subjects, with asides between commas; the verb agrees across them. */
    {"<actor>", 52, FLAT, "<det> <maybe-trait> <people> <who>"},
    {"<actor>", 48, FLAT, "<det> <maybe-standing> <firm> <which>"},
    {"<who>", 54, FLAT, ""},
    {"<who>", 16, NESTS, "at <site.s>"},
    {"<who>", 10, NESTS, ", who <actor.s> <regards.s> ,"},
    {"<who>", 10, NESTS, ", who <actor.p> <regards.p> ,"},
    {"<who>", 10, NESTS, ", who <action> ,"},
    {"<which>", 54, FLAT, ""},
    {"<which>", 16, NESTS, "near the <place>"},
    {"<which>", 10, NESTS, ", which <actor.s> <regards.s> ,"},
    {"<which>", 10, NESTS, ", which <actor.p> <regards.p> ,"},
    {"<which>", 10, NESTS, ", which <action> ,"},

    /* Objects, which may end a sentence and therefore do without commas. */
    {"<object>", 44, FLAT, "<goods.s>"},
    {"<object>", 56, FLAT, "<goods.p>"},
    {"<goods>", 1, FLAT, "<det> <maybe-adjective> <thing> <detail>"},
    {"<detail>", 58, FLAT, ""},
    {"<detail>", 14, NESTS, "of <site.s>"},
    {"<detail>", 10, NESTS, "that <actor.s> <verb.s>"},
    {"<detail>", 10, NESTS, "that <actor.p> <verb.p>"},
    {"<detail>", 8, NESTS, "that <actor.p> <verb.d>"},
    {"<partner>", 28, FLAT, "<colleague.s>"},
    {"<partner>", 24, FLAT, "<colleague.p>"},
    {"<partner>", 26, FLAT, "<site.s>"},
    {"<partner>", 22, FLAT, "<site.p>"},
    {"<colleague>", 1, FLAT, "<det> <maybe-trait> <people> <desk>"},
    {"<desk>", 68, FLAT, ""},
    {"<desk>", 32, NESTS, "at <site.s>"},
    {"<site>", 1, FLAT, "<det> <maybe-standing> <firm> <location>"},
    {"<location>", 76, FLAT, ""},
    {"<location>", 24, NESTS, "near the <place>"},

    {"<det.s>", 50, FLAT, "the"},
    {"<det.s>", 26, FLAT, "a"},
    {"<det.s>", 9, FLAT, "this"},
    {"<det.s>", 8, FLAT, "every"},
    {"<det.s>", 7, FLAT, "another"},
    {"<det.p>", 38, FLAT, ""},
    {"<det.p>", 32, FLAT, "the"},
    {"<det.p>", 9, FLAT, "some"},
    {"<det.p>", 8, FLAT, "N"},
    {"<det.p>", 7, FLAT, "these"},
    {"<det.p>", 6, FLAT, "several"},
    {"<maybe-trait>", 74, FLAT, ""},
    {"<maybe-trait>", 26, FLAT, "<trait>"},
    {"<maybe-standing>", 70, FLAT, ""},
    {"<maybe-standing>", 30, FLAT, "<standing>"},
    {"<maybe-adjective>", 60, FLAT, ""},
    {"<maybe-adjective>", 40, FLAT, "<adjective>"},
    {"<before>", 52, FLAT, ""},
    {"<before>", 18, FLAT, "on <day>"},
    {"<before>", 16, FLAT, "last <period>"},
    {"<before>", 14, FLAT, "in <month>"},
    {"<later>", 66, FLAT, ""},
    {"<later>", 34, FLAT, "next <period>"},
};

#define SURNAMES                                                                               \
    "smith jones wilson moore clark lewis walker hall wright lopez scott adams nelson carter " \
    "mitchell roberts turner phillips campbell evans"
#define FIRMS                                                                                 \
    "norvale harwick tessmer calder brandell oakmont pelham lindqvist corvane ashby dunmore " \
    "fairlea kestrel marlowe rosstown tilbury"

static const ToyWords words[] = {
    /* One list per topic: markets, energy, law, farming, computers, travel. */
    {"<people>",
     NULL,
     {"trader/traders analyst/analysts investor/investors broker/brokers dealer/dealers "
      "banker/bankers",
      "driller/drillers engineer/engineers miner/miners geologist/geologists "
      "refiner/refiners surveyor/surveyors",
      "judge/judges lawyer/lawyers senator/senators regulator/regulators "
      "prosecutor/prosecutors juror/jurors",
      "farmer/farmers grower/growers rancher/ranchers grocer/grocers baker/bakers "
      "brewer/brewers",
      "programmer/programmers researcher/researchers designer/designers scientist/scientists "
      "technician/technicians hobbyist/hobbyists",
      "pilot/pilots passenger/passengers mechanic/mechanics captain/captains "
      "sailor/sailors dispatcher/dispatchers"}},
    {"<firm>",
     NULL,
     {"bank/banks fund/funds exchange/exchanges insurer/insurers brokerage/brokerages "
      "thrift/thrifts",
      "producer/producers refinery/refineries supplier/suppliers mine/mines "
      "contractor/contractors cartel/cartels",
      "court/courts agency/agencies committee/committees department/departments "
      "commission/commissions ministry/ministries",
      "cooperative/cooperatives mill/mills dairy/dairies supermarket/supermarkets "
      "brewery/breweries bakery/bakeries",
      "manufacturer/manufacturers laboratory/laboratories startup/startups vendor/vendors "
      "institute/institutes chipmaker/chipmakers",
      "airline/airlines railroad/railroads airport/airports carrier/carriers "
      "shipyard/shipyards shipper/shippers"}},
    {"<thing>",
     NULL,
     {"bond/bonds stock/stocks share/shares loan/loans security/securities option/options "
      "mortgage/mortgages contract/contracts currency/currencies portfolio/portfolios "
      "dividend/dividends",
      "well/wells pipeline/pipelines reactor/reactors rig/rigs turbine/turbines "
      "reserve/reserves furnace/furnaces generator/generators lease/leases "
      "oilfield/oilfields barrel/barrels",
      "law/laws ruling/rulings lawsuit/lawsuits bill/bills appeal/appeals verdict/verdicts "
      "settlement/settlements regulation/regulations complaint/complaints statute/statutes "
      "subpoena/subpoenas",
      "crop/crops harvest/harvests herd/herds field/fields tractor/tractors potato/potatoes "
      "soybean/soybeans apple/apples orchard/orchards barn/barns loaf/loaves",
      "computer/computers chip/chips program/programs network/networks screen/screens "
      "printer/printers database/databases processor/processors circuit/circuits "
      "workstation/workstations keyboard/keyboards",
      "plane/planes route/routes ship/ships engine/engines train/trains ticket/tickets "
      "jet/jets runway/runways schedule/schedules ferry/ferries locomotive/locomotives"}},
    {"<verb>",
     NULL,
     {"sells/sell/sold buys/buy/bought trades/trade/traded holds/hold/held "
      "values/value/valued hedges/hedge/hedged",
      "operates/operate/operated explores/explore/explored drains/drain/drained "
      "inspects/inspect/inspected taps/tap/tapped closes/close/closed",
      "approves/approve/approved rejects/reject/rejected reviews/review/reviewed "
      "drafts/draft/drafted debates/debate/debated overturns/overturn/overturned",
      "raises/raise/raised gathers/gather/gathered stores/store/stored plants/plant/planted "
      "weighs/weigh/weighed waters/water/watered",
      "builds/build/built designs/design/designed tests/test/tested "
      "installs/install/installed upgrades/upgrade/upgraded copies/copy/copied",
      "books/book/booked delays/delay/delayed repairs/repair/repaired "
      "charters/charter/chartered loads/load/loaded cleans/clean/cleaned"}},
    {"<adjective>",
     NULL,
     {"risky foreign municipal liquid volatile domestic convertible long-term",
      "offshore nuclear deep idle northern industrial hydroelectric abandoned",
      "federal criminal civil strict disputed constitutional controversial lengthy",
      "fresh dry frozen organic ripe sweet seasonal irrigated",
      "digital powerful portable electronic fast compatible experimental graphic",
      "crowded overnight regional empty late coastal narrow transatlantic"}},

    /* The rest is common to all topics. */
    {"<regards>",
     NULL,
     {"supports/support/supported trusts/trust/trusted criticizes/criticize/criticized "
      "advises/advise/advised hires/hire/hired sues/sue/sued"}},
    {"<leans>", NULL, {"relies/rely/relied depends/depend/depended"}},
    {"<objects>", NULL, {"objects/object/objected turns/turn/turned"}},
    {"<says>",
     NULL,
     {"says/say/said believes/believe/believed argues/argue/argued "
      "predicts/predict/predicted insists/insist/insisted"}},
    {"<hopes>",
     NULL,
     {"plans/plan/planned wants/want/wanted agrees/agree/agreed hopes/hope/hoped "
      "refuses/refuse/refused"}},
    {"<rises>",
     NULL,
     {"rises/rise/rose falls/fall/fell climbs/climb/climbed drops/drop/dropped "
      "slips/slip/slipped declines/decline/declined"}},
    {"<remains>", NULL, {"remains/remain/remained seems/seem/seemed looks/look/looked"}},
    {"<opener>", NULL, {"meanwhile however moreover still indeed instead"}},
    {"<modal>", NULL, {"will may could must"}},
    {"<have>", NULL, {"has/have"}},
    {"<is>", NULL, {"is/are"}},
    {"<was>", NULL, {"was/were"}},
    {"<gauge>", NULL, {"price/prices cost/costs quality/qualities"}},
    {"<trait>", NULL, {"young senior local independent veteran cautious prominent angry"}},
    {"<standing>", NULL, {"new large small troubled private rival profitable ambitious"}},
    {"<place>", NULL, {"harbor river border capital station park"}},
    {"<manner>", NULL, {"sharply slowly again steadily quickly slightly"}},
    {"<unit>", NULL, {"million billion"}},
    {"<day>", NULL, {"monday friday tuesday thursday wednesday"}},
    {"<period>", NULL, {"year week month quarter"}},
    {"<month>",
     NULL,
     {"october september january march june december april november february august july"}},

    /* A person is introduced once, and then known by title, surname, pronoun and firm. */
    {"<man>", NULL, {"john robert james william michael david richard thomas"}},
    {"<woman>", NULL, {"mary susan linda karen helen barbara"}},
    {"<surname>", NULL, {SURNAMES}},
    {"<rank>", NULL, {"president chairman director treasurer economist founder"}},
    {"<firm-name>", NULL, {FIRMS}},
    {"<suffix>", NULL, {"corp. inc. co. group ltd."}},
    {"<his-title>", "<person>", {"mr. ms."}},
    {"<pronoun>", "<person>", {"he she"}},
    {"<his-name>", "<surname>", {SURNAMES}},
    {"<his-firm>", "<firm-name>", {FIRMS}},
};

const ToyTables toy_language = {
    .rules = rules,
    .rule_count = sizeof rules / sizeof *rules,
    .words = words,
    .word_count = sizeof words / sizeof *words,
};
