//! What every recall index must do; the macro [`recall_suite!`](crate::recall_suite) makes a test of each rule.

mod pages;
mod pending;
mod words;

use super::session::rules;

pub use pages::*;
pub use pending::*;
pub use words::*;

rules! { recall_suite, recall;
    vectors_come_back_as_they_went_in
    pages_of_vectors_neither_repeat_nor_skip
    vectors_of_one_thread_can_be_paged
    spaces_never_mix
    owners_never_share_vectors
    an_entry_written_again_is_replaced
    messages_that_are_gone_are_passed_over
    deleted_messages_leave_the_index
    a_deleted_thread_leaves_the_index
    neighbours_come_in_order
    the_index_version_moves_with_the_index
    the_index_version_counts_ones_own_writes
    words_find_messages_best_first
    any_word_is_a_word
    owners_never_share_words
    words_can_be_looked_for_in_one_thread
    one_owner_among_many_loses_no_hit
    terms_written_again_are_replaced
    nothing_is_looked_for_without_words
    what_has_no_entry_is_listed_newest_first
    entries_without_a_vector_count_as_indexed
    a_running_answer_waits_until_it_is_over
    all_is_listed_whatever_order_entries_come_in
    deleted_messages_are_not_pending
    what_moves_to_another_owner_is_listed_there
}
