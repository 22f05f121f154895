"""What assistants say without claiming anything, and what texts say to whoever judges them: in English, Catalan, French
and Romanian; pleasantries and requests in Spanish, too.
"""

import re
from functools import cache
from unicodedata import normalize

__all__ = ["EMOJI", "addresses_judge", "bare", "is_direction", "is_filler", "is_refusal", "is_request", "is_yes_or_no"]

EMOJI = "\U0001f000-\U0001faff\u2600-\u27bf\ufe0f\u200d"
"""Ranges of a class in a regular expression."""

_SAME = {ord("’"): "'", ord("*"): None}
_ENDING = re.compile(rf"[\s!.…_~:：{EMOJI}]+\Z")


def bare(sentence: str) -> str:
    """A sentence in small letters without accents, which many leave out, without emphasis and full stop."""
    return _ENDING.sub("", _unaccented(sentence.translate(_SAME).lower()).lstrip(" \t_~¡"))


def _unaccented(text: str) -> str:
    if text.isascii():
        return text
    return "".join(letter for letter in normalize("NFD", text) if not "\u0300" <= letter <= "\u036f")


def is_filler(sentence: str) -> bool:
    """Whether a `bare` sentence only keeps the conversation going."""
    return _FILLER.fullmatch(sentence) is not None


def is_refusal(sentence: str) -> bool:
    """Whether a `bare` sentence says that the assistant doesn't know, and nothing else."""
    refusal = _REFUSAL.match(sentence)
    return refusal is not None and _BUT.search(sentence, refusal.end()) is None


def is_direction(sentence: str) -> bool:
    """Whether a `bare` sentence only sends the reader to people who help, and doesn't say what they would do."""
    return _DIRECTION.fullmatch(sentence) is not None


def is_request(sentence: str) -> bool:
    """Whether a `bare` sentence only asks the reader, with a "please", to turn to people who help.

    Without a "please" it may be what one has to do: "Contact support." answers a question.
    """
    return is_direction(sentence) and _PLEASE.search(sentence) is not None


def is_yes_or_no(sentence: str) -> bool:
    """Whether a `bare` sentence is no more than that: it says something together with the next one only."""
    return sentence in _YES_OR_NO


def addresses_judge(text: str) -> str | None:
    """What a text says to whoever judges it, or to a model that reads it; None if nothing is found.

    It is for people to look at: a text may well quote such words. Found are orders to ignore instructions or to give a
    verdict, ready-made verdicts, marks of turns and tags as prompts have them; also where characters that can't be seen
    stand between the letters, or spell it. Other languages, and other words for it, are not found.

    Returns:
        What was found, in small letters without accents, cut at 120 characters.
    """
    found = _to_judge().search(_seen(text))
    return None if found is None else " ".join(found[0].split())[:120]


def _seen(text: str) -> str:
    """A text as a model reads it: what can't be seen taken out, or spelt out where it stands for letters."""
    text = text.translate(_SAME)
    if not text.isascii():
        text = _UNSEEN.sub("", _TAG_LETTERS.sub(lambda found: chr(ord(found[0]) - 0xE0000), text))
        text = _unaccented(normalize("NFKC", text))
    return text.lower()


def _phrases(lines: str, **names: str) -> str:
    """A pattern from one phrase a line.

    Groups are as in regular expressions; `…` stands for a few words, `<name>` for the pattern of that name.
    """
    phrases = "|".join(line.strip() for line in _unaccented(lines).strip().split("\n")).replace("(", "(?:")
    phrases = phrases.replace("…", r"[^:,;.!?]{0,80}")
    for name, pattern in names.items():
        phrases = phrases.replace(f"<{name}>", pattern)
    return f"(?:{phrases})"


_YES = _phrases("""
    (yes, )?(sure( thing)?|of course|certainly|absolutely|definitely)|ok(ay)?|alright|great|no problem
    (great|good|excellent) question|you're welcome|hello( there)?|hi( there)?|thank(s| you)( for …)?
    (és )?clar( que sí)?|i tant|(sí, )?per descomptat|naturalment|evidentment|d'acord|de res|cap problema
    (molt )?bona pregunta|hola|bon dia|gràcies( per …)?
    (oui, )?bien sûr|bien entendu|certainement|absolument|avec plaisir|très bien|volontiers|de rien|pas de problème
    (bonne|excellente|très bonne) question|bonjour|merci( (pour …|de (votre|vos|ta|tes|m'avoir|nous avoir) …))?
    (da, )?(sigur|desigur|bineînțeles|cu siguranță)|în regulă|nicio problemă
    (da, )?cu (mare )?(plăcere|drag)( vă …| îți …)?
    (o )?(foarte )?bună întrebare|bună( ziua)?|salut|mulțumesc( pentru …)?
    (sí, )?claro( que sí)?|por supuesto|desde luego|de acuerdo|de nada|ningún problema|con (mucho )?gusto
    (muy )?buena pregunta|hola|buenos días|buenas (tardes|noches)|(muchas )?gracias( por …)?
""")
_HERE_IS = _phrases("""
    here('s| is| are)|below (is|are)|(i'll|i will|let me) (explain|summari[sz]e|list|help)
    (aquí|a continuació),? (tens|teniu|té|hi ha|et|us|li|trobaràs|trobareu|trobarà)
    voici|voilà|ci-dessous
    iată|mai jos (găsiți|găsești|este|sunt)|aici (este|sunt)
""")
# With no "Sure" before it, "here is" may tell something: "Here is where the river ends".
_HERE_IS_ANSWER = _phrases(r"""
    here('s| is| are) what i (found|know|have)
    here('s| is| are) (an?|the|some|your|my) ([\w-]+ ){0,3}(answers?|summary|overview|lists?|breakdown|information)
    here('s| is| are) (an?|the|some|your|my) ([\w-]+ ){0,3}(details|response|explanation|steps|results?|comparison)
    (aquí|a continuació),? (tens|teniu|té|hi ha|trobaràs|trobareu|trobarà) (el que he trobat|\w+ (resum|resposta))
    (aquí|a continuació),? (tens|teniu|té|hi ha|trobaràs|trobareu|trobarà) \w+ (llista|informació|passos|detalls)
    (això|aquest) és el que he trobat
    (voici|voilà) (ce que j'ai trouvé|(un|une|la|le|les|votre) ([\w-]+ )?(résumé|aperçu|réponse|liste|explication))
    (voici|voilà) les ([\w-]+ )?(informations|étapes|détails|résultats)
    iată (ce am găsit|(un |o )?(rezumat(ul)?|list[ăa]|răspuns(ul)?|informațiile|pașii|detaliile))
""")
_ASK_ME = _phrases("""
    (please )?(just )?(let me know|feel free to (ask|reach)|i'm (here|happy|glad)|i'd be (happy|glad)|ask away)…
    (please )?(don't|do not) hesitate to (ask|reach)…
    no dub(tis|teu|ti) (en|a) (preguntar|dir|demanar|consultar)…|digue'm…|fes-m'ho …|avisa'm…|s[oó]c aquí…|estic aquí…
    n'hésite[zs]? (surtout )?pas( à (me|m'|poser|demander)…)?|je suis (là|à)…|je reste…|(dites|dis|faites|fais)-…
    nu ezita(ți)? să (întreb|mă |pui|puneți)…|(spune|spuneți|anunță|anunțați)-m…|sunt aici…
    no dud(es|e|en|éis) en (preguntar|decir|consultar|contactar|escribir)…|dime…|dígame…|avísame…|hazme…|estoy aquí…
""")
_GOODBYE = _phrases(
    r"""
    (i )?hope (this|that|it)( \w+){0,2} helps?( …)?|good luck( …)?|have an? (great|nice|good|lovely|wonderful) \w+
    (please )?(feel free|don't hesitate|do not hesitate) to (ask|reach out|let me know|get in touch)( …)?
    (please )?(just )?let me know (if|whether|what|how|should) …
    if you( still)? (have|need|want) (\w+ ){0,3}(questions?|help|assistance|information|details|else)…,? <ask me>
    if there('s| is) anything else…,? <ask me>
    ((i'm|i am|we're|we are) )?(always )?(happy|glad|here) to (help|assist)( …)?
    (i'd|i would|we'd|we would) be (happy|glad) to (help|assist)( …)?
    espero (que|haver)…(ajud|útil|serve)…|que (vagi bé|tinguis un bon dia)
    no dub(tis|teu|ti) (en|a) (preguntar|contactar-me|consultar-me|demanar|dir-m'ho|escriure'm)( …)?
    si (tens|teniu|té|necessit(es|eu|a)|vols|voleu) (\w+ ){0,3}(preguntes|dubtes|ajuda|informació)…,? <ask me>
    (digue'm|digueu-me|fes-m'ho saber|avisa'm) si …
    j'espère …(aid|util|serv|répon)…|je reste à (votre|ta) disposition( …)?|bonne (journée|soirée|chance)( …)?
    n'hésite[zs]? (surtout )?pas à (me|m'|poser|demander|revenir)( |…)
    si (vous|tu) (avez|as|souhaitez|veux|voulez) …(questions?|aide|informations?|précisions?|détails?)…,? <ask me>
    (dites|dis|faites|fais)-(le-)?moi (savoir )?si …
    sper (că|să)…(ajut|util|folos)…|o zi (bună|frumoasă)( …)?|mult succes( …)?
    nu ezita(ți)? să (întreb|mă |ne |pui|puneți|ceri|cereți)…
    dacă (mai )?(ai|aveți|vrei|doriți) (\w+ ){0,3}(întrebări|ajutor|informații|nelămuriri|detalii)…,? <ask me>
    (spune-mi|spuneți-mi|anunță-mă|anunțați-mă) dacă …
    espero (que|haber)…(ayud|útil|sirv|serv)…|que (tengas?|tenga|pase|pases) (un|una) buen[ao]? \w+
    no dud(es|e|en|éis) en (preguntar|contactarme|consultarme|escribirme|decírmelo)( …)?
    si (tienes|tiene|tenéis|necesitas?|quieres?|deseas?) (\w+ ){0,3}(preguntas?|dudas?|ayuda|información)…,? <ask me>
    (estic|sóc|som) aquí per ajudar(-te|-vos|-lo|-la)?|je suis (là|ici) pour (vous |t')aider( …)?
    (sunt|suntem) aici (ca )?să (vă|te) (ajut|ajutăm)( …)?
    (estoy|estamos) aquí para ayudar(te|le|os|les|lo|la)?|quedo a (tu|su|vuestra) disposición( …)?
    (dime|dígame|avísame|hazme saber|hágame saber) si …
    """,
    **{"ask me": _ASK_ME},
)
_FILLER = re.compile(
    _phrases(
        """
        <yes>(,? (and |i |et |și |y )?<yes>)?([,!.–—-]? *<here is> …)?
        <here is answer>…
        (<yes>[,!.] )?<goodbye>
        """,
        **{"yes": _YES, "here is answer": _HERE_IS_ANSWER, "here is": _HERE_IS, "goodbye": _GOODBYE},
    )
)

_SORRY = _phrases("""
    (i'm|i am|we're|we are) (very |so |really )?sorry|sorry|unfortunately|(my )?apologies|i apologi[sz]e
    ho sento|em sap greu|lamentablement|malauradament
    (je suis )?désolée?|malheureusement|je regrette
    (îmi|ne) pare rău|din păcate|scuze
""")
_DOCUMENTS = _phrases("""
    (the|these|none of the|no) (provided|given|supplied|available|retrieved) (documents?|contexts?|passages?|sources?)
    (the|these|none of the|no) (provided|given|supplied|available|retrieved) (texts?|information|search results)
    (the|these|none of the|no) (documents?|information|texts?|sources?) (provided|given|available|i have)
    (the|these|none of the|no) (contexts?|passages?|documents|sources|search results)( provided| given| above| i have)?
""")
_REFUSE = _phrases(
    r"""
    (i|we) (\w+ )?(do not|don't|did not|didn't|can't|cannot|can not|couldn't|could not) (\w+ly )?<find>
    (i'm|i am|i was|we're|we are|we were) (not able|unable) to|i wasn't able to|(i'm|i am) not (sure|certain)
    (i|we) (do not|don't) have (\w+ ){0,3}(information|info|data|details|access|context|answer|knowledge)
    (i have )?no idea$|unanswerable$|n/a$|unknown$|no answer( found| available)?$|(not enough|insufficient) information$
    <documents> (do not|don't|does not|doesn't|did not|didn't) (\w+ly )?<say>
    <documents> (contains?|provides?|gives?|mentions?|has|have) no |(there is|there's) no … in <documents>
    (jo )?no ho sé|no sé (la|quin|què|com|on|quan|si|per)|no tinc (ni )?idea|no he (trobat|pogut)
    no (ho |us |et |li )?(puc|podem) (respon|contest|ajud|propor|confirm|determin|dir|trob|saber|donar)
    no (tinc|tenim|dispos[oe]m?) (d'|de )?(\w+ ){0,3}(informació|dades|accés|resposta)
    (els|les|la|el|aquests|cap) (documents?|context|passatges?|fonts?|informació)( \w+)? no <diu>
    je ne (le |la |les )?sais pas|je n'en sais rien|(je|nous) ne (dispos|trouv|connai|parven|parvien)\w+ (pas|aucun)
    je ne (vous |te |le |la )?(peux|puis) (\w+ )?pas (vous |te |y )?(répond|aid|fourn|confirm|détermin|dire|trouv|donn)
    (je n'ai|nous n'avons) (pas (pu|trouvé|assez|suffisamment|d'information|accès|la réponse)|trouvé aucun|aucune idée)
    je ne suis pas (en mesure|capable|sûr|certain)
    (les|le|la|ces|aucun des) (documents?|contextes?|passages?|sources?|informations?)( \w+)? ne <dit>\w* (pas|aucun)
    (eu )?nu știu|nu sunt sigur|nu (dețin|dispun de|găsesc) |nu am (găsit|informații|suficient|destul|acces|date|putut)
    nu (vă |te |îți )?(pot|putem) (să )?(vă |te |îți )?(răspund|ajut|ofer|confirm|spun|găsi|determin)
    (documentele|documentul|contextul|pasajele|sursele|informațiile)( \w+)? nu <spune>
    """,
    find=_phrases("know|find|see|answer|help|assist|provide|determine|confirm|say|tell|access|identify|verify|comply"),
    say=_phrases(
        "contain|mention|provide|specify|say|state|include|answer|address|give|indicate|cover|discuss|explain"
    ),
    diu=_phrases("conten|conté|esment|diu|inclo|especifi|proporcion|respon|indi"),
    dit=_phrases("contien|mentionn|précis|indiqu|fourni|donn|dis|perme|répond"),
    spune=_phrases("conțin|menționea|specific|spun|preciz|includ|ofer|indic"),
    documents=_DOCUMENTS,
)
_REFUSAL = re.compile(
    rf"(?:{_SORRY}(?:,? (?:but|pero|mais|dar))?,? )?(?:as an ai[^,;]{{0,30}}, )?"
    rf"(?:(?:based on|according to|from) [^,:;]{{1,60}}, )?{_REFUSE}|{_SORRY}\Z"
)
_BUT = re.compile(
    r"[;:—]|\b(?:but|however|although|though|except|pero|encara que|mais|cependant|toutefois|dar|insa|totusi)\b"
)
_DIRECTION = re.compile(
    _phrases(
        """
        (<more>,? )?<turn to> <helpers>( directly| directament| directement| direct)?(,? <more>)?
        (vă rog |vă rugăm |te rog )?să ne contact(ați|ezi)(,? <more>)?
        """,
        **{
            "turn to": _phrases(r"""
                (please |kindly |you (can|may|could|should) )*(contact|call|e-?mail|ask)
                (please |kindly |you (can|may|could|should) )*(write to|reach out to|get in touch with|speak (to|with))
                (si us plau,? |podeu |pots |us preguem que )*(contact(a|eu|i|ar)( amb)?|escri(u|viu) a)
                (si us plau,? |podeu |pots |us preguem que )*(poseu-vos|posa't|posar-vos) en contacte amb
                (si us plau,? )?(adreceu-vos|adreça't) a
                (merci de |veuillez |vous pouvez |n'hésitez pas à )?(contacter|joindre|vous adresser à|écrire à)
                contacte[zr]?|adressez-vous à|écrivez à
                ((vă|te) (rog|rugăm) (să )?|puteți (să )?|poți (să )?)?contact(ați|ezi|ează|a)
                ((vă|te) (rog|rugăm) (să )?|puteți (să )?|poți (să )?)?((luați|iei|ia) legătura cu|scrie(ți)? la)
                (por favor,? |puedes? |le rogamos que )*(contact(a|e|ar)( con)?|escrib(e|a|ir) a|diríjase a)
                (por favor,? |puedes? |le rogamos que )*(póngase|ponte|ponerse) en contacto con
            """),
            "helpers": _phrases(r"""
                us|(our |the |your )?(\w+ )?(support|customer (service|care)|help ?desk|help centre)( (team|staff))?
                nosaltres|(l'|el |la |el nostre )?(equip |servei )?(de |d'|del )?(suport|assistència)( tècnic)?
                (el |el nostre )?servei d'atenció al client
                nous|(notre |le |l'|la )?(équipe |service )?(de |d'|du )?(support|assistance|client)( technique)?
                (echipa|serviciul)( noastră| nostru)? de (suport|asistență|relații cu clienții)( tehnică?)?
                suportul( nostru| tehnic)?
                nosotros|(el |la |nuestr[oa] )?(equipo |servicio )?(de )?(soporte|asistencia)( técnic[oa])?
                (el |nuestro )?(servicio |equipo )?(de )?atención al cliente
            """),
            "more": _phrases("""
                for (more|further|any) (help|information|assistance|details|questions)|(about|with) (this|that)
                per (a |obtenir )?(més )?(ajuda|informació|detalls)
                pour (plus d'|plus de |toute |de plus amples )(informations?|aide|détails|question)
                pentru (mai multe )?(informații|ajutor|detalii)
                para (obtener )?(más )?(información|ayuda|detalles)
            """),
        },
    )
)
_PLEASE = re.compile(
    _phrases(r"""
        \b(please|kindly|si us plau|us preguem|merci de|veuillez|por favor|le rogamos)\b|\b(vă|te) (rog|rugăm)\b
    """)
)
_YES_OR_NO = frozenset(("yes", "no", "yep", "nope", "oui", "non", "si", "da", "nu"))

# --- What is said to a judge ----------------------------------------------------------------------------------------

_TAG_LETTERS = re.compile("[\U000e0020-\U000e007e]")
"""A copy of ASCII that no font shows."""
_UNSEEN = re.compile("[\u00ad\u034f\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff\U000e0000-\U000e007f]")
_JUDGE = _phrases(r"""
    (ai |llm |automatic |the )?(grader|judge|evaluator|examiner|assessor|grading model)s?\b
    (el |la |un |una )?(jutge|avaluador|avaluadora|corrector)\b
    (le |la |un |une |l')?(juge|evaluateur|evaluatrice|correcteur)\b
    (un |o )?(judecator|judecatorul|evaluator|evaluatorul)\b
""")
_GOOD = _phrases(r"""
    (fully |completely |entirely )?(correct|faithful|supported|relevant|accurate|true|perfect|excellent|the best)\b
    (totalment )?(correct|fidel|rellevant|excel·?lent|perfect)[ae]?\b
    (entièrement |parfaitement )?(correct|fidèle|exact|pertinent|excellent|parfait)e?\b
    (pe deplin )?(corect|fidel|relevant|excelent|perfect)(ă|ul)?\b
""")
_ORDERS = _phrases(
    r"""
    (ignore|disregard|forget|override) (all |any |of |the |your |these |those |my )*<before>( \w+)? <rules>
    (ignore|disregard|forget|override) (all |any |of |the |your |these |those |my )*<before>[.,;:!]
    (ignore|disregard|forget|override) (all |any |of |the |your |these |those )+(\w+ )?<rules>
    (ignore|disregard|forget) everything <before>
    (ignor|oblid)(a|eu) (totes (les )?|aquestes |les teves )<rules>
    (ignor|oblid)(a|eu) (les )?<rules> (anteriors|prèvies|de dalt)|no (facis|feu) cas de (les )?<rules>
    (ignore|oublie)[zr]? (toutes? (les |tes |vos |ces )?|tes |vos |ces )<rules>
    (ignore|oublie)[zr]? les <rules> (précédentes|antérieures|ci-dessus)|ne (tiens|tenez) pas compte des <rules>
    (ignor|uit)(ă|ați) (toate |aceste )<rules>
    (ignore|oublie)[zr]? (tout )?ce qui précède|(ignor|uit)(ă|ați) (tot )?ce (este|e) mai sus
    (ignor|uit)(ă|ați) <rules> (anterioare|precedente|de mai sus)|nu (ține|țineți) cont de (toate )?<rules>
    (dear |attention,? (to )?|note to |message (to|for) |hey,? |hello,? )<judge>
    (as|you are|you're|act as) (now )?(a |an |my )?(\w+ )?<judge>,? (and )?(you )?(must|should|have to|will|shall)\b
    (com a|ets|sou) <judge>,? …(has de|heu de|cal que|hauries|hauríeu)
    (en tant que |en tant qu'|tu es |vous êtes )<judge>,? …(dois|devez|doit)\b
    (ca|ești|sunteți) <judge>,? …(trebuie|ar trebui)
    (mark|rate|grade|score|evaluate|judge|label|classify|count) (this|the|my|it)( \w+){0,2} (as|with|to be) <good>
    (marc|puntu|qualific|avalu|consider)(a|eu) (aquesta|la meva|la) resposta …com( a)? <good>
    (marque|note|évalue|juge|classe|considère)[zr]? (cette|ma|la) réponse …comme (étant )?<good>
    (marcheaz|noteaz|evalueaz|consider)[ăa] (acest răspuns|răspunsul) …(ca|drept) (fiind )?<good>
    (marcați|notați|evaluați|considerați) (acest răspuns|răspunsul) …(ca|drept) (fiind )?<good>
    (give|award|assign) (this|it|me|my|the)( \w+){0,2} (a |an |the )?(full|top|highest|maximum|perfect|best) <mark>
    (don|assign)(a|eu)(-li|-hi|-me)? …(la )?(màxima puntuació|puntuació màxima|nota màxima)
    (donne|attribue)[zr]?(-lui|-moi)? …(la )?(note maximale|meilleure note|note la plus haute)
    (dă|dați|acordă|acordați)(-i|-mi)? …(punctajul maxim|nota maximă|scorul maxim)
    (you must|you should|please|always) (give|output|return|reply|respond|answer)( with)? (the |a )?<mark>
    """,
    before="(?:(?:previous|above|prior|earlier|preceding)(?: this)?)",
    rules=_phrases(r"""
        (instructions?|prompts?|guidelines|rules|directions|rubric|criteria|system prompt)\b
        (instruccions|indicacions|regles|consignes|instrucțiuni|instrucțiunile|reguli|regulile)\b
    """),
    judge=_JUDGE,
    good=_GOOD,
    mark=r"(?:marks?|scores?|ratings?|grades?|verdicts?|points)\b",
)
_MARKS = "|".join(
    (
        # turns
        r"<\|[a-z][a-z_]{1,20}\|>|\[/?inst\]|<</?sys>>|</?(?:system|assistant)>|<(?:start|end)_of_turn>",
        r"^#{1,4} ?(?:system|instructions?)(?: (?:prompt|message))?:? *$|^\[?(?:new )?system (?:prompt|message)\]?:",
        r"^\[?(?:system|sistema|systeme|sistem)\]?: (?:you|ignore|the|tu|vous|ignora)\b",
        # tags of prompts
        r"</?(?:passage|answer|question|claim|reference|turn|text)-[0-9a-f]{4,}",
        r"</(?:passage|answer|question|claim|reference|context|document)s?>",
        # verdicts
        r"""["']verdict["']\s*:\s*["']?\w""",
        r"""["'](?:score|rating|grade|label)["']\s*:\s*["']?(?:\d|(?:in)?correct\b|supported\b|faithful\b)""",
        rf"^ *(?:final |my |the )?(?:verdict|grade|score)(?: is)?: *['\"`]?(?:{_GOOD}|\d+ ?/ ?\d+\b)",
    )
)


@cache
def _to_judge() -> re.Pattern[str]:
    return re.compile(rf"\b{_ORDERS}|{_MARKS}", re.MULTILINE)
