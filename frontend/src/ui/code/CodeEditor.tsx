import { t } from '@lingui/core/macro';
import { Input, Textarea } from '@mantine/core';
import { type RefObject, useEffect, useId, useLayoutEffect, useRef, useState } from 'react';
import classes from './Code.module.css';
import type { Editor, openEditor } from './editor';

interface Props {
  label: string;
  description: string;
  /** what it begins with, and, once the editor is here, goes on from: it is never set from outside */
  value: string;
  onChange: (value: string) => void;
  error: string | undefined;
}

const LEAVING = t`Tab indents. To leave the editor with the keyboard, press Escape, then Tab.`;
const EXACT = { autoComplete: 'off', autoCapitalize: 'none', spellCheck: false } as const;

interface Loaded {
  open: typeof openEditor;
  /** where somebody is writing already; null: nowhere */
  caret: number | null;
}

/** A field for a script: a plain one at once, which becomes an editor as soon as that is here. */
export function CodeEditor(props: Props) {
  const plain = useRef<HTMLTextAreaElement>(null);
  const [loaded, setLoaded] = useState<Loaded | null>(null);
  useEffect(() => {
    let wanted = true;
    void import('./editor').then(
      ({ openEditor: open }) => {
        const field = plain.current;
        const caret = field && document.activeElement === field ? field.selectionEnd : null;
        if (wanted) setLoaded({ open, caret });
      },
      () => undefined, // a script can be written in a plain field as well
    );
    return () => {
      wanted = false;
    };
  }, []);
  return loaded === null ? (
    <PlainField {...props} field={plain} />
  ) : (
    <EditorField {...props} {...loaded} />
  );
}

function PlainField(props: Props & { field: RefObject<HTMLTextAreaElement | null> }) {
  const { label, description, value, onChange, error, field } = props;
  return (
    <Textarea
      {...EXACT}
      ref={field}
      className={classes.plain}
      label={label}
      description={description}
      value={value}
      onChange={(event) => onChange(event.currentTarget.value)}
      error={error}
      rows={14}
      wrap="off"
    />
  );
}

function EditorField(props: Props & Loaded) {
  const { label, description, value, onChange, error, open, caret } = props;
  const id = useId();
  const box = useRef<HTMLDivElement>(null);
  const editor = useRef<Editor | null>(null);
  const change = useRef(onChange);
  change.current = onChange;
  const wrong = error !== undefined;
  const attributes = {
    'aria-labelledby': `${id}-label`,
    'aria-describedby': wrong ? `${id}-about ${id}-error` : `${id}-about`,
    'aria-invalid': String(wrong),
    autocapitalize: 'none',
    // What is edited can have the focus anyhow; who checks pages can see it so.
    tabindex: '0',
  };
  const first = useRef({ value, attributes, caret });

  useEffect(() => {
    if (box.current === null) return;
    const { value: text, attributes: named, caret: at } = first.current;
    const onTyped = (typed: string): void => change.current(typed);
    const opened = open(box.current, { text, attributes: named, onChange: onTyped });
    editor.current = opened;
    if (at !== null) opened.focus(at);
    return () => {
      editor.current = null;
      opened.destroy();
    };
  }, [open]);
  // At once, so that who looks for the field that is wrong finds it.
  // biome-ignore lint/correctness/useExhaustiveDependencies: they follow from whether it is wrong
  useLayoutEffect(() => editor.current?.setAttributes(attributes), [wrong]);

  return (
    <Input.Wrapper
      label={label}
      labelElement="div"
      labelProps={{ id: `${id}-label`, onClick: () => editor.current?.focus() }}
      description={`${description} ${LEAVING}`}
      descriptionProps={{ id: `${id}-about` }}
      error={error}
      errorProps={{ id: `${id}-error` }}
    >
      <div ref={box} className={`${classes.code} ${classes.editor}`} data-wrong={wrong} />
    </Input.Wrapper>
  );
}
