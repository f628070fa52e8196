/**
 * Finds untranslatable texts in the pages' sources: what looks like English outside of Lingui's macros. Pure; by TypeScript's own parser.
 *
 * @typedef {{ line: number, text: string }} Found
 */
import ts from 'typescript';

const MACROS = new Set(['t', 'plural', 'select', 'selectOrdinal', 'msg', 'defineMessage']);
const MACRO_TAGS = new Set(['Trans', 'Plural', 'Select', 'SelectOrdinal']);
/** Elements whose text users type or press literally. */
const VERBATIM_TAGS = new Set(['Code', 'Kbd', 'code', 'kbd', 'pre']);
/** Attributes that a browser reads, not a user. */
const MACHINE_ATTRIBUTES = new Set([
  'word', // of the glossary
  'className',
  'd',
  'viewBox',
  'style',
  'autoComplete',
  'accept',
]);
/** Names of keys and products, and terms of HTTP and browsers. */
const NAMES = new Set([
  ...'Alt Backspace Control Delete End Enter Escape Home Meta Shift Space Tab'.split(' '),
  ...'Accept Authorization Location Bearer Basic sha256: CSV English'.split(' '),
  ...'Slurm Python Linux Jupyter JupyterLab TensorBoard Apptainer'.split(' '),
  'Data Scientist Portal',
]);
/** Methods whose string argument is a search key. */
const FINDERS = /\.(includes|startsWith|endsWith|has|get|querySelector(All)?)$/;

const WORDS = /\p{L}{2,}/u;
const CAPITALISED = /^[A-Z][a-z’']+$/;
const SENTENCE = /^[A-Z][a-z’']* .*[a-z]|[a-z]{2,}[.!?…]$|\b[a-z’']{2,},? [a-z’']{2,}\b/;

/** @param {string} text */
const looksEnglish = (text) => SENTENCE.test(text) || (CAPITALISED.test(text) && !NAMES.has(text));

/** @param {ts.Node} node */
function templateText(node) {
  if (ts.isStringLiteral(node) || ts.isNoSubstitutionTemplateLiteral(node)) return node.text;
  if (!ts.isTemplateExpression(node)) return null;
  return [node.head.text, ...node.templateSpans.map((span) => `0${span.literal.text}`)].join('');
}

/** @param {ts.JsxElement | ts.JsxSelfClosingElement} element */
const tagOf = (element) =>
  (ts.isJsxElement(element) ? element.openingElement : element).tagName.getText();

/**
 * Return whether all texts below this node are translated, or only read by machines or developers.
 * @param {ts.Node} node
 */
function isPassedOver(node) {
  if (ts.isTypeNode(node) || ts.isImportDeclaration(node) || ts.isExportDeclaration(node))
    return true;
  if (ts.isTaggedTemplateExpression(node)) return MACROS.has(node.tag.getText());
  if (ts.isCallExpression(node)) return MACROS.has(node.expression.getText());
  if (ts.isNewExpression(node)) return /Error$/.test(node.expression.getText());
  if (ts.isJsxElement(node) || ts.isJsxSelfClosingElement(node))
    return MACRO_TAGS.has(tagOf(node)) || VERBATIM_TAGS.has(tagOf(node));
  if (ts.isJsxAttribute(node)) return MACHINE_ATTRIBUTES.has(node.name.getText());
  return false;
}

/**
 * Return whether a string is a key, an import path or compared with another.
 * @param {ts.Node} node
 */
function isName(node) {
  const { parent } = node;
  if (ts.isPropertyAssignment(parent))
    return parent.name === node || ['key', 'word'].includes(parent.name.getText());
  if (ts.isElementAccessExpression(parent) || ts.isCaseClause(parent)) return true;
  if (ts.isCallExpression(parent)) return FINDERS.test(parent.expression.getText());
  return ts.isBinaryExpression(parent) && /^[!=]==?$|^in$/.test(parent.operatorToken.getText());
}

/**
 * @param {string} name of the file
 * @param {string} source
 * @returns {Found[]}
 */
export function untranslated(name, source) {
  const file = ts.createSourceFile(name, source, ts.ScriptTarget.Latest, true);
  /** @type {Found[]} */
  const found = [];
  /** @param {ts.Node} node @param {string} text */
  const note = (node, text) => {
    const { line } = file.getLineAndCharacterOfPosition(node.getStart());
    found.push({ line: line + 1, text: text.trim().replace(/\s+/g, ' ') });
  };
  /** @param {ts.Node} node */
  const look = (node) => {
    if (isPassedOver(node)) return;
    if (ts.isJsxText(node)) {
      if (WORDS.test(node.text) && !NAMES.has(node.text.trim())) note(node, node.text);
      return;
    }
    const text = templateText(node);
    if (text !== null && !isName(node) && looksEnglish(text)) note(node, text);
    ts.forEachChild(node, look);
  };
  look(file);
  return found;
}
