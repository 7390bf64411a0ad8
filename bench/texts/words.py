"""The words of the generated texts. Their order matters: a seed selects words by their index."""


def _words(text: str) -> tuple[str, ...]:
    return tuple(text.split())


NOUNS = _words("""
    account address agent amount answer archive balance basket branch bridge buffer button camera carrier channel
    client cluster color comment contract counter country coupon currency customer delivery device discount document
    driver element employee engine event factor feature folder garden gateway group harbor header history image
    index invoice island item journal kernel label ledger letter library limit machine manager market matrix member
    message meter mirror model module monitor network notice number object offer office option order owner packet
    parcel partner payment person planet player policy product profile project quantity quarter query queue reader
    record region report request result river route sample schedule score section sensor server service session
    shipment signal source status storage stream street student summary supplier table target task teacher template
    ticket token total traffic transfer user value vector vendor version village visitor warehouse weight window
    worker zone
""")
VERBS = _words("""
    add apply build check clear close collect compare compute convert copy count create delete emit encode fetch
    filter find flush format handle index insert join load log make map measure merge move normalize notify open
    parse print process publish push read reduce refresh reject remove render reset resolve retry save scan schedule
    send set sort split start stop store sum trim update validate visit wait wrap write
""")
ADJECTIVES = _words("""
    active average blue broken cached cheap cold daily default deep early empty external fast final first fresh
    global green heavy hidden large last late local lower main manual maximal minimal monthly narrow new old open
    pending private public quiet rapid raw red remote retired round sharp short silent small stable strict total
    upper urgent valid warm weekly wide yellow
""")
GLUE = _words("""
    the a of for with and to in on from by as at over under after before without until
""")
FOREIGN = _words("""
    café naïve Zürich Łódź smörgåsbord größer señor façade øre Ελλάδα λόγος Москва привет данные 東京 日本語 你好 世界
    서울 안녕 مرحبا שלום नमस्ते ประเทศ 🙂 🚀 ✅ → € ½ … “quoted” —
""")
FIRST_NAMES = _words("""
    Ada Alan Amir Bea Chen Dana Elif Femi Grace Hana Ivan Jonas Kenji Lena Maya Nils Olu Priya
""")
LAST_NAMES = _words("""
    Abe Brandt Costa Diaz Eriksen Fischer Garcia Haddad Ito Jensen Kim Lopez Müller Novák
""")
SQL_KEYWORDS = _words("""
    ALL AND AS ASC BETWEEN BY CASE DESC DISTINCT ELSE END EXCEPT EXISTS FROM GROUP HAVING IN INNER IS JOIN LEFT LIKE
    LIMIT NOT NULL OFFSET ON OR ORDER OUTER SELECT THEN UNION WHEN WHERE
""")
UPSERT_KEYWORDS = _words("""
    AND AS BY CASE CONFLICT DEFAULT DELETE DESC DISTINCT DO ELSE END FROM IN INSERT INTO IS JOIN LEFT MATCHED MERGE NOT
    NOTHING NULL ON OR ORDER OVER PARTITION RETURNING SELECT SET THEN UPDATE USING VALUES WHEN WHERE WITH
""")
