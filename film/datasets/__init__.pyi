from .generator.documents import make_documents as make_documents
from .generator.example_tables import write_example_tables as write_example_tables
from .generator.questions import make_question_pairs as make_question_pairs
from .generator.records import make_records as make_records
from .locks import lock_beside as lock_beside
from .locks import unlock as unlock
from .pairs import QuestionPairs as QuestionPairs
from .writing import atomic_writer as atomic_writer
