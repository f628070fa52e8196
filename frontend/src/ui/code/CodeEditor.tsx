import { t } from '@lingui/core/macro';
import { Input, Textarea } from '@mantine/core';
import { type RefObject, useEffect, useId, useLayoutEffect, useRef, useState } from 'react';
import classes from './Code.module.css';
import type { Editor, openEditor } from './editor';

interface Props {
  label: string;
  description: string;
  /** the initial value; later changes from outside are ignored */
  value: string;
  onChange: (value: string) => void;
  error: string | undefined;
}

const LEAVING = t`Tab indents. To leave the editor with the keyboard, press Escape, then Tab.`;
const EXACT = { autoComplete: 'off', autoCapitalize: 'none', spellCheck: false } as const;

/** A field for a script: a plain text area until the editor is loaded. */
export function CodeEditor(props: Props) {
  const plain = useRef<HTMLTextAreaElement>(null);
  const [open, setOpen] = useState<typeof openEditor | null>(null);
  const [opened, setOpened] = useState(false);
  useEffect(() => {
    let mounted = true;
    void import('./editor').then(
      ({ openEditor: loaded }) => {
        if (mounted) setOpen(() => loaded);
      },
      () => undefined, // keep the plain field
    );
    return () => {
      mounted = false;
    };
  }, []);
  // Remove the plain field only once the editor has taken over its text, selection and focus: keys
  // pressed in between would be lost.
  return (
    <>
      {open && (
        <EditorField {...props} open={open} plain={plain} onOpened={() => setOpened(true)} />
      )}
      {!opened && <PlainField {...props} field={plain} />}
    </>
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

interface EditorProps extends Props {
  open: typeof openEditor;
  /** the plain field that it replaces */
  plain: RefObject<HTMLTextAreaElement | null>;
  onOpened: () => void;
}

function EditorField(props: EditorProps) {
  const { label, description, onChange, error, open, plain, onOpened } = props;
  const id = useId();
  const box = useRef<HTMLDivElement>(null);
  const editor = useRef<Editor | null>(null);
  const wrong = error !== undefined;
  const attributes = {
    'aria-labelledby': `${id}-label`,
    'aria-describedby': wrong ? `${id}-about ${id}-error` : `${id}-about`,
    'aria-invalid': String(wrong),
    autocapitalize: 'none',
    // The edited text is focusable anyway; this makes that visible to accessibility checkers.
    tabindex: '0',
  };
  const now = useRef({ onChange, onOpened, attributes, value: props.value });
  now.current = { onChange, onOpened, attributes, value: props.value };

  useLayoutEffect(() => {
    if (box.current === null) return;
    const field = plain.current;
    const opened = open(box.current, {
      text: field?.value ?? now.current.value,
      selection: field ? [field.selectionStart, field.selectionEnd] : [0, 0],
      attributes: now.current.attributes,
      onChange: (typed) => now.current.onChange(typed),
    });
    editor.current = opened;
    if (field && document.activeElement === field) opened.focus();
    now.current.onOpened();
    return () => {
      editor.current = null;
      opened.destroy();
    };
  }, [open, plain]);
  // At once, so that code that searches for the invalid field finds it.
  // biome-ignore lint/correctness/useExhaustiveDependencies: the attributes depend on `wrong`
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
