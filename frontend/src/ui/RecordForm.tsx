import { Trans } from '@lingui/react/macro';
import { Button, Group, Paper, Stack } from '@mantine/core';
import type { ReactNode } from 'react';
import { errorMessage } from '@/api/problem';
import { Notice } from './Notice';
import { RestoredNotice } from './RestoredForm';
import type { Form } from './useRecordForm';

/** The state of a form without its values. */
type FormState = Omit<Form<unknown>, 'values' | 'set' | 'setValues' | 'text'>;

interface Props {
  form: FormState;
  /** the text of the button that saves */
  button?: ReactNode;
  /** whether it can't be saved yet */
  disabled?: boolean;
  /** closes the form without saving */
  onCancel?: (() => void) | undefined;
  /** replaces the message of an error that no field shows; null: the usual message */
  message?: ReactNode;
  /** replaces the buttons */
  foot?: ReactNode;
  /** the class of a card, for a form of the page instead of a dialog */
  card?: string | undefined;
  label?: string;
  children: ReactNode;
}

/** The frame of a form: the notice of a restored draft, the error, the fields, and the buttons. */
export function RecordForm({ form, message, foot, card, label, children, ...buttons }: Props) {
  const props = { ref: form.ref, onSubmit: form.submit, noValidate: true, 'aria-label': label };
  const content = (
    <>
      <RestoredNotice draft={form.draft} onStartOver={form.startOver} />
      {message ??
        (form.generalError !== null && (
          <Notice tone="error">{errorMessage(form.generalError)}</Notice>
        ))}
      {children}
      {foot ?? <Buttons form={form} {...buttons} />}
    </>
  );
  return card === undefined ? (
    <form {...props}>
      <Stack>{content}</Stack>
    </form>
  ) : (
    <Paper component="form" className={card} {...props}>
      {content}
    </Paper>
  );
}

type ButtonsProps = Pick<Props, 'form' | 'button' | 'disabled' | 'onCancel'>;

function Buttons({ form, button, disabled, onCancel }: ButtonsProps) {
  const cancel = (): void => {
    form.discard();
    onCancel?.();
  };
  return (
    <Group justify="flex-end">
      {onCancel && (
        <Button variant="default" onClick={cancel}>
          <Trans>Cancel</Trans>
        </Button>
      )}
      <Button type="submit" loading={form.busy} disabled={disabled}>
        {button}
      </Button>
    </Group>
  );
}
