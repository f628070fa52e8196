/** The code editor: CodeMirror, loaded only where a script is edited. Independent of React. */
import { defaultKeymap, history, historyKeymap, indentWithTab } from '@codemirror/commands';
import { bracketMatching, indentUnit, syntaxHighlighting } from '@codemirror/language';
import { highlightSelectionMatches, searchKeymap } from '@codemirror/search';
import { Compartment, EditorState, type Extension } from '@codemirror/state';
import {
  drawSelection,
  EditorView,
  highlightActiveLine,
  highlightActiveLineGutter,
  keymap,
  lineNumbers,
} from '@codemirror/view';
import { classHighlighter } from '@lezer/highlight';
import { languageOf } from './languages';

export interface Editor {
  setAttributes: (attributes: Record<string, string>) => void;
  focus: () => void;
  destroy: () => void;
}

interface Options {
  text: string;
  /** the range, as offsets in `text` */
  selection: [number, number];
  /** attributes of the editable element: its label and description */
  attributes: Record<string, string>;
  onChange: (text: string) => void;
}

const FIXED: Extension = [
  lineNumbers(),
  highlightActiveLineGutter(),
  highlightActiveLine(),
  highlightSelectionMatches(),
  history(),
  drawSelection(),
  bracketMatching(),
  indentUnit.of('  '),
  EditorState.tabSize.of(4),
  syntaxHighlighting(classHighlighter),
  // Escape, then Tab leaves the editor: CodeMirror's default, which the page explains.
  keymap.of([indentWithTab, ...searchKeymap, ...historyKeymap, ...defaultKeymap]),
];

/** Create an editor in `parent`. */
export function openEditor(
  parent: HTMLElement,
  { text, selection, attributes, onChange }: Options,
): Editor {
  const language = new Compartment();
  const named = new Compartment();
  let spoken = languageOf(text);
  const view = new EditorView({
    parent,
    state: EditorState.create({
      doc: text,
      selection: { anchor: selection[0], head: selection[1] },
      extensions: [
        FIXED,
        language.of(spoken),
        named.of(EditorView.contentAttributes.of(attributes)),
        EditorView.updateListener.of(({ docChanged, state }) => {
          if (!docChanged) return;
          const now = state.doc.toString();
          const nextLanguage = languageOf(now);
          if (nextLanguage !== spoken) {
            spoken = nextLanguage;
            view.dispatch({ effects: language.reconfigure(nextLanguage) });
          }
          onChange(now);
        }),
      ],
    }),
  });
  return {
    setAttributes: (attributes) =>
      view.dispatch({ effects: named.reconfigure(EditorView.contentAttributes.of(attributes)) }),
    focus: () => view.focus(),
    destroy: () => view.destroy(),
  };
}
