"""The types and fields of Python's syntax trees, numbered for all versions alike."""

from __future__ import annotations

# Of Python 3.10 to 3.14.
_STATEMENTS = """
    FunctionDef AsyncFunctionDef ClassDef Return Delete Assign TypeAlias AugAssign AnnAssign For AsyncFor While If With
    AsyncWith Match Raise Try TryStar Assert Import ImportFrom Global Nonlocal Expr Pass Break Continue
"""
_EXPRESSIONS = """
    BoolOp NamedExpr BinOp UnaryOp Lambda IfExp Dict Set ListComp SetComp DictComp GeneratorExp Await Yield YieldFrom
    Compare Call FormattedValue Interpolation JoinedStr TemplateStr Constant Attribute Subscript Starred Name List Tuple
    Slice
"""
_OPERATORS = """
    And Or Add Sub Mult MatMult Div Mod Pow LShift RShift BitOr BitXor BitAnd FloorDiv Invert Not UAdd USub Eq NotEq Lt
    LtE Gt GtE Is IsNot In NotIn
"""
_OTHERS = """
    comprehension ExceptHandler arguments arg keyword alias withitem match_case MatchValue MatchSingleton MatchSequence
    MatchMapping MatchClass MatchStar MatchAs MatchOr TypeVar ParamSpec TypeVarTuple
"""
_FIELDS = """
    annotation args bases body bound cases cause cls comparators context_expr decorator_list default_value defaults elt
    elts exc finalbody format_spec func generators guard handlers ifs items iter key keys keywords kw_defaults kwarg
    kwd_patterns kwonlyargs left lower msg name names op operand ops optional_vars orelse pattern patterns posonlyargs
    returns right slice step subject target targets test type type_params upper value values vararg
"""

# Types of nodes, from 1 on; 0 is any other.
NODE_TYPE_NUMBERS = {
    name: number
    for number, name in enumerate((_STATEMENTS + _EXPRESSIONS + _OPERATORS + _OTHERS).split(), 1)
}
# Fields that hold nodes, from 1 on; 0 is any other, and that of edges that aren't those of the tree.
FIELD_NUMBERS = {name: number for number, name in enumerate(_FIELDS.split(), 1)}
