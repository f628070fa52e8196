/** The editor itself: CodeMirror, loaded only where a script is written. Knows nothing of React. */
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
  /** from where to where, in `text` */
  selection: [number, number];
  /** of the element that is written in: its label and what describes it */
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

/** Puts an editor into `parent`. */
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
          const wanted = languageOf(now);
          if (wanted !== spoken) {
            spoken = wanted;
            view.dispatch({ effects: language.reconfigure(wanted) });
          }
          onChange(now);
        }),
      ],
    }),
  });
  return {
    setAttributes: (wanted) =>
      view.dispatch({ effects: named.reconfigure(EditorView.contentAttributes.of(wanted)) }),
    focus: () => view.focus(),
    destroy: () => view.destroy(),
  };
}
