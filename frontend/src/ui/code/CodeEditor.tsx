import { Input, Textarea } from '@mantine/core';
import { useEffect, useId, useRef, useState } from 'react';
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

const LEAVING = 'Tab indents. To leave the editor with the keyboard, press Escape, then Tab.';
const EXACT = { autoComplete: 'off', autoCapitalize: 'none', spellCheck: false } as const;

/** A field for a script: a plain one at once, which becomes an editor as soon as that is here. */
export function CodeEditor(props: Props) {
  const [open, setOpen] = useState<typeof openEditor | null>(null);
  useEffect(() => {
    void import('./editor').then(
      (loaded) => setOpen(() => loaded.openEditor),
      () => undefined, // a script can be written in a plain field as well
    );
  }, []);
  return open === null ? <PlainField {...props} /> : <EditorField {...props} open={open} />;
}

function PlainField({ label, description, value, onChange, error }: Props) {
  return (
    <Textarea
      {...EXACT}
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

function EditorField(props: Props & { open: typeof openEditor }) {
  const { label, description, value, onChange, error, open } = props;
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
  };
  const first = useRef({ value, attributes });

  useEffect(() => {
    if (box.current === null) return;
    const { value: text, attributes: named } = first.current;
    const onTyped = (typed: string): void => change.current(typed);
    const opened = open(box.current, { text, attributes: named, onChange: onTyped });
    editor.current = opened;
    return () => {
      editor.current = null;
      opened.destroy();
    };
  }, [open]);
  // biome-ignore lint/correctness/useExhaustiveDependencies: they follow from whether it is wrong
  useEffect(() => editor.current?.setAttributes(attributes), [wrong]);

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
